"""The command that looks codes up: find."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from dx2px.cli.answers import shown_stays
from dx2px.cli.console import AsJson, print_json, print_table, remark
from dx2px.cli.models import ModelOption, load_model
from dx2px.errors import InputError

KindName = StrEnum("KindName", ["diagnosis", "procedure"])


def find(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="WORDS",
            help="Words of the title, everyday words, or the start of a code; unfinished is fine.",
        ),
    ],
    kind: Annotated[
        KindName | None, typer.Option(help="Only diagnoses, or only procedures.", show_default="both")
    ] = None,
    top: Annotated[int, typer.Option(help="How many codes to list, best matches first.", min=1)] = 10,
    model: ModelOption = None,
    json: AsJson = False,
) -> None:
    """Look up ICD codes by words or by the start of a code.

    It searches ICD-9-CM, ICD-10-CM and ICD-10-PCS, knows everyday words and forgives typing mistakes. Codes that the
    model saw in many stays come first.

    \b
    Examples:
      dx2px find heart attack
      dx2px find hemodial --kind procedure
      dx2px find 585
    """
    from dx2px.answers.shipped import shipped_models
    from dx2px.codes import System, Usage, dotted, split
    from dx2px.codes import find as search

    asked = " ".join(words).strip()
    if not asked:
        raise InputError("Write what to look for: words of a title, everyday words, or the start of a code.")
    systems = [system for system in System if kind is None or system.kind == kind.value]
    # An installation without a model can look codes up too.
    usage = load_model(model).usage if model or shipped_models() else Usage({})
    hits = search(asked, systems, top, usage=usage)
    if json:
        found = [{"code": hit.code, "title": hit.title, "stays": usage.stays.get(hit.code)} for hit in hits]
        print_json({"query": asked, "codes": found})
        return
    if not hits:
        remark(f"No code matches {asked!r}: try fewer words, or only their first letters.")
        return
    rows = [
        [dotted(hit.code), split(hit.code)[0].label, hit.title, shown_stays(usage.stays.get(hit.code))]
        for hit in hits
    ]
    print_table("", ["code", "system", "title", "stays"], rows, codes=(0,))
    readings = dict.fromkeys(
        hit.read_as for hit in hits if hit.read_as and hit.read_as.lower() != asked.lower()
    )
    if readings:
        remark(f"Read as {' or '.join(readings)}.")
