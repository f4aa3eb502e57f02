"""The command that looks codes up: find."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from dx2px.cli.console import AsJson, print_json, print_table, remark

KindName = StrEnum("KindName", ["diagnosis", "procedure"])


def find(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="WORDS", help="Words of the title, whole or just begun, or the start of a code."
        ),
    ],
    kind: Annotated[
        KindName | None, typer.Option(help="Only diagnoses, or only procedures.", show_default="both")
    ] = None,
    top: Annotated[int, typer.Option(help="How many codes to list, best matches first.", min=1)] = 10,
    json: AsJson = False,
) -> None:
    """Look up ICD codes by words or by the start of a code.

    It searches ICD-9-CM, ICD-10-CM and ICD-10-PCS.

    \b
    Examples:
      dx2px find heart failure
      dx2px find hemodial --kind procedure
      dx2px find 585
    """
    from dx2px.codes import System, dotted, split
    from dx2px.codes import find as search

    asked = " ".join(words)
    systems = [system for system in System if kind is None or system.kind == kind.value]
    hits = search(asked, systems, top)
    if json:
        found = [{"code": hit.code, "title": hit.title} for hit in hits]
        print_json({"query": asked, "codes": found})
        return
    if not hits:
        remark(f"No code matches {asked!r}: try fewer words, or only their first letters.")
        return
    rows = [[dotted(hit.code), split(hit.code)[0].label, hit.title] for hit in hits]
    print_table("", ["code", "system", "title"], rows, codes=(0,))
