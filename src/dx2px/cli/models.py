"""Commands that ask a model: recommend, explain, neighbors, export."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dx2px.cli.console import AsJson, print_json, print_table, remark
from dx2px.errors import InputError

if TYPE_CHECKING:
    from dx2px.inference import Explanation, Model, Neighbors, Recommendation, Recommended

FormatName = StrEnum("FormatName", ["word2vec", "parquet", "npz"])
ModelOption = Annotated[
    Path | None, typer.Option("--model", help="A model folder, as `dx2px train` writes it.")
]
Codes = Annotated[list[str], typer.Argument(help="Diagnoses: 428.0, 4280 or icd9cm:4280.")]
NOT_ADVICE = "This reflects how stays were coded; it is no medical advice."


def recommend(
    codes: Codes,
    model: ModelOption = None,
    top: Annotated[int, typer.Option(help="How many procedures.", min=1)] = 5,
    json: AsJson = False,
) -> None:
    """Recommend procedures for a stay's diagnoses, with reasons."""
    found = _load(model).recommend(_split(codes), top)
    if json:
        print_json(found.to_dict())
    else:
        show_recommendation(found)


def explain(
    codes: Codes,
    model: ModelOption = None,
    procedures: Annotated[str | None, typer.Option(help="Procedures to explain, comma-separated.")] = None,
    top: Annotated[int, typer.Option(help="How many of the best to explain, if none are given.", min=1)] = 5,
    out: Annotated[Path | None, typer.Option(help="Save as .json, .png, .svg or .pdf.")] = None,
) -> None:
    """Show the significance of each diagnosis and its transport to the procedures."""
    if out is not None and out.suffix.lower() != ".json":
        from dx2px.report.figures import check_format

        check_format(out)
    found = _load(model).explain(_split(codes), _split([procedures]) if procedures else None, top)
    if out is None:
        _show_explanation(found)
        return
    if out.suffix.lower() == ".json":
        from json import dumps

        from dx2px.storage import write_text

        write_text(out, dumps(found.to_dict(), indent=2, ensure_ascii=False))
    else:
        from dx2px.report.explanation import save_explanation

        save_explanation(found, out)
    remark(f"The explanation is in {out}. {NOT_ADVICE}")


def neighbors(
    code: Annotated[str, typer.Argument(help="A diagnosis or procedure.")],
    model: ModelOption = None,
    top: Annotated[int, typer.Option(help="How many of each kind.", min=1)] = 10,
    json: AsJson = False,
) -> None:
    """List the codes whose vectors are nearest to a code's, by cosine."""
    found = _load(model).neighbors(code, top)
    if json:
        print_json(found.to_dict())
    else:
        _show_neighbors(found)


def export(
    out: Annotated[Path, typer.Option(help="The file to write.")],
    model: ModelOption = None,
    format: Annotated[FormatName, typer.Option(help="Which kind of file.")] = FormatName["word2vec"],  # noqa: A002
) -> None:
    """Write the vectors of all codes, each labelled with its code, for other tools."""
    from dx2px.inference import export as write

    write(_load(model), out, format.value)  # type: ignore[arg-type]
    remark(f"The vectors are in {out}.")


def show_recommendation(found: Recommendation) -> None:
    """Print diagnoses with their significance, and procedures with their reasons."""
    known = [
        [d.code, d.title, f"{d.significance:.1%}" if d.status == "known" else d.status]
        for d in found.diagnoses
    ]
    print_table("Diagnoses", ["code", "title", "significance"], known)
    rows = [[r.rank, r.code, r.title, _score(r.probability), _reasons(r)] for r in found.recommendations]
    print_table("Procedures", ["rank", "code", "title", "score", "because of"], rows)
    remark(NOT_ADVICE)


def _score(probability: float | None) -> str:
    return "–" if probability is None else f"{probability:.3f}"


def _reasons(recommended: Recommended) -> str:
    """The diagnoses that account for a procedure, three at most, from one hundredth up."""
    return ", ".join(f"{b.code} {b.share:.0%}" for b in recommended.because[:3] if b.share >= 0.01)


def _show_explanation(found: Explanation) -> None:
    known = [p for p in found.procedures if p.status == "known"]
    diagnoses = [d for d in found.diagnoses if d.status == "known"]
    rows = [
        [d.code, d.title, f"{d.significance:.3f}", *(f"{mass:.3f}" for mass in row)]
        for d, row in zip(diagnoses, found.transport.plan, strict=True)
    ]
    print_table(
        "Transport from diagnoses to procedures", ["code", "title", "μ", *(p.code for p in known)], rows
    )
    scores = [
        [p.code, p.title, _score(p.probability) if p.status == "known" else p.status]
        for p in found.procedures
    ]
    print_table("Procedures", ["code", "title", "score"], scores)
    unknown = [d.code for d in found.diagnoses if d.status == "unknown"]
    if unknown:
        remark(f"The model does not know {', '.join(unknown)}.")
    remark(NOT_ADVICE)


def _show_neighbors(found: Neighbors) -> None:
    for kind, near in (("diagnoses", found.diagnoses), ("procedures", found.procedures)):
        rows = [[n.code, n.title, f"{n.similarity:.3f}"] for n in near]
        print_table(f"Nearest {kind} to {found.code} {found.title}", ["code", "title", "cosine"], rows)


def _load(path: Path | None) -> Model:
    from dx2px.inference import Model

    if path is None:
        raise InputError("No model is given: name one with --model; `dx2px train` makes one.")
    return Model.load(path)


def _split(codes: list[str]) -> list[str]:
    return [code.strip() for text in codes for code in text.split(",") if code.strip()]
