"""Commands that ask a model: models, recommend, explain, neighbors, export."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dx2px.cli.console import AsJson, print_json, print_table, remark
from dx2px.errors import InputError
from dx2px.storage import check_place

if TYPE_CHECKING:
    from dx2px.inference import (
        Diagnosis,
        Explanation,
        Mapped,
        Model,
        Neighbors,
        Plan,
        Procedure,
        Recommendation,
        Recommended,
    )

FormatName = StrEnum("FormatName", ["word2vec", "parquet", "npz"])
PlanName = StrEnum("PlanName", ["own", "transport"])
Theme = StrEnum("Theme", ["light", "dark"])
ModelOption = Annotated[
    Path | None,
    typer.Option(
        "--model", help="A model folder, or a name from `dx2px models` [default: the package's own]."
    ),
]
Mapping = Annotated[
    bool,
    typer.Option("--map", help="Put ICD-10 diagnoses to an ICD-9 model, or the reverse, by the public maps."),
]
Codes = Annotated[list[str], typer.Argument(help="Diagnoses: 428.0, 4280 or icd9cm:4280.")]
WIDEST = 8  # procedures beside each other on a terminal
NOT_ADVICE = "This reflects how stays were coded; it is no medical advice."


def models(json: AsJson = False) -> None:
    """List the models that come with the package."""
    from dx2px.inference import Model
    from dx2px.inference.shipped import DEFAULT, shipped_models

    found = {name: Model.load(folder) for name, folder in shipped_models().items()}
    if json:
        print_json({"models": [_model_record(name, one) for name, one in found.items()]})
        return
    rows = [
        [
            name,
            one.files.method,
            len(one.files.diagnoses),
            len(one.files.procedures),
            "yes" if name == DEFAULT else "",
        ]
        for name, one in found.items()
    ]
    print_table("Models in this package", ["name", "method", "diagnoses", "procedures", "default"], rows)
    for name, folder in shipped_models().items():
        remark(f"{name}: its card is {folder / 'MODEL_CARD.md'}")


def recommend(
    codes: Codes,
    model: ModelOption = None,
    top: Annotated[int | None, typer.Option(help="How many procedures [default: 5].", min=1)] = None,
    coverage: Annotated[
        float | None,
        typer.Option(
            help="Instead of the best few, the set that holds this share of a stay's procedures on average."
        ),
    ] = None,
    map: Mapping = False,  # noqa: A002
    json: AsJson = False,
) -> None:
    """Recommend procedures for a stay's diagnoses, with reasons."""
    if top is not None and coverage is not None:
        raise InputError(
            "Give --top or --coverage, not both: the coverage decides how many procedures there are."
        )
    found = load_model(model).recommend(_split(codes), top or 5, coverage=coverage, map=map)
    if json:
        print_json(found.to_dict())
    else:
        show_recommendation(found)


def explain(
    codes: Codes,
    model: ModelOption = None,
    procedures: Annotated[str | None, typer.Option(help="Procedures to explain, comma-separated.")] = None,
    top: Annotated[int, typer.Option(help="How many of the best to explain, if none are given.", min=1)] = 5,
    map: Mapping = False,  # noqa: A002
    plan: Annotated[
        PlanName, typer.Option(help="The model's own plan, or the paper's transport plan.")
    ] = PlanName["own"],
    out: Annotated[
        Path | None,
        typer.Option(help="Save as .json, .html (interactive, opens offline), .png, .svg or .pdf."),
    ] = None,
    theme: Annotated[Theme, typer.Option(help="Of a .png, .svg or .pdf.")] = Theme["light"],
    json: AsJson = False,
) -> None:
    """Show the significance of each diagnosis and how the diagnoses lead to the procedures."""
    if out is not None:
        _check_explanation(out)
    asked = _split([procedures]) if procedures else None
    found = load_model(model).explain(_split(codes), asked, top, map=map, plan=plan.value)  # type: ignore[arg-type]
    if out is not None:
        _save_explanation(found, out, theme)
        remark(f"The explanation is in {out}. {NOT_ADVICE}")
    if json:
        print_json(found.to_dict())
    elif out is None:
        _show_explanation(found)


def _check_explanation(out: Path) -> None:
    check_place(out)
    if out.suffix.lower() != ".json":
        from dx2px.report.explanation import check_ending

        check_ending(out)


def _save_explanation(found: Explanation, out: Path, theme: Theme) -> None:
    if out.suffix.lower() == ".json":
        from json import dumps

        from dx2px.storage import write_text

        write_text(out, dumps(found.to_dict(), indent=2, ensure_ascii=False))
    else:
        from dx2px.report.explanation import save_explanation

        save_explanation(found, out, theme.value)  # type: ignore[arg-type]


def neighbors(
    code: Annotated[str, typer.Argument(help="A diagnosis or procedure.")],
    model: ModelOption = None,
    top: Annotated[int, typer.Option(help="How many of each kind.", min=1)] = 10,
    json: AsJson = False,
) -> None:
    """List the codes whose vectors are nearest to a code's, by cosine."""
    found = load_model(model).neighbors(code, top)
    if json:
        print_json(found.to_dict())
    else:
        _show_neighbors(found)


def export(
    out: Annotated[Path, typer.Option(help="The file to write.")],
    model: ModelOption = None,
    format: Annotated[  # noqa: A002
        FormatName | None,
        typer.Option(help="Which kind of file [default: by its ending .parquet or .npz, else word2vec]."),
    ] = None,
) -> None:
    """Write the vectors of all codes, each labelled with its code, for other tools."""
    from dx2px.inference import export as write

    check_place(out)
    by_ending = {".parquet": "parquet", ".npz": "npz"}.get(out.suffix.lower(), "word2vec")
    write(load_model(model), out, format.value if format else by_ending)  # type: ignore[arg-type]
    remark(f"The vectors are in {out}.")


def show_recommendation(found: Recommendation) -> None:
    """Print diagnoses with their significance, and procedures with their reasons."""
    from dx2px.inference.results import shown_probability

    diagnoses = [[d.code, d.title, _significance(d)] for d in found.diagnoses]
    print_table("Diagnoses", ["code", "title", "significance"], diagnoses)
    rows = [
        [r.rank, r.code, r.title, shown_probability(r.probability), _reasons(r)]
        for r in found.recommendations
    ]
    print_table("Procedures", ["rank", "code", "title", "probability", "because of"], rows)
    _tell_mapping(found.mapping)
    _tell_diagnoses(found.diagnoses)
    if found.coverage is not None:
        remark(
            f"This set of {found.coverage.set_size} was made to hold {found.coverage.target:.0%} of a stay's coded "
            f"procedures, on average over stays like those it was fitted on: all with a probability of "
            f"{shown_probability(found.coverage.threshold)} or more, and the first."
        )
    if any(one.probability is None for one in found.recommendations):
        remark("This model has no calibration: it ranks procedures and gives no probabilities.")
    remark(NOT_ADVICE)


def _significance(diagnosis: Diagnosis) -> str:
    if diagnosis.status == "unknown":
        return "unknown"
    mark = " (backed-off)" if diagnosis.status == "backed-off" else ""
    return f"{diagnosis.significance:.1%}{mark}"


def _tell_mapping(mapping: tuple[Mapped, ...] | None) -> None:
    """Each code that was mapped, and those that could not be, counted."""
    if mapping is None:
        return
    for one in mapping:
        if one.to:
            remark(f"Mapped {one.code} → {', '.join(one.to)} ({'exact' if one.exact else 'approximate'}).")
    if unmapped := [one.code for one in mapping if not one.to]:
        remark(f"{len(unmapped)} of {len(mapping)} codes have no map: {', '.join(unmapped)}.")


def _tell_diagnoses(diagnoses: Sequence[Diagnosis]) -> None:
    """What stood in for codes that the model has not seen, and which it could make nothing of."""
    from dx2px.codes import dotted

    for one in diagnoses:
        if one.stand_in is not None:
            heading = f"{dotted(one.stand_in.code)} {one.stand_in.title}"
            remark(
                f"{one.code} is new to the model: the mean of its {one.stand_in.codes} under {heading} stood in."
            )
    if unknown := [one.code for one in diagnoses if one.status == "unknown"]:
        remark(
            f"{len(unknown)} of {len(diagnoses)} diagnoses are unknown to the model: {', '.join(unknown)}."
        )


def _reasons(one: Recommended | Procedure) -> str:
    """The diagnoses that account for a procedure, three at most, from one hundredth up."""
    return ", ".join(f"{b.code} {b.share:.0%}" for b in one.because[:3] if b.share >= 0.01)


def _show_explanation(found: Explanation) -> None:
    """The plan as a table where it is narrow enough, then the procedures with their reasons."""
    from dx2px.inference.results import shown_probability

    plan, known = found.plan, [p for p in found.procedures if p.status == "known"]
    diagnoses = [d for d in found.diagnoses if d.status != "unknown"]
    if plan.mass is not None and len(known) <= WIDEST:
        rows = [
            [d.code, d.title, f"{d.significance:.3f}", *(f"{mass:.3f}" for mass in row)]
            for d, row in zip(diagnoses, plan.mass, strict=True)
        ]
        columns = ["code", "title", "μ", *(p.code for p in known)]
        print_table(f"From diagnoses to procedures ({plan.kind})", columns, rows)
    else:
        told = [[d.code, d.title, _significance(d)] for d in found.diagnoses]
        print_table("Diagnoses", ["code", "title", "significance"], told)
    scores = [
        [
            p.rank,
            p.code,
            p.title,
            shown_probability(p.probability) if p.status == "known" else p.status,
            _reasons(p),
        ]
        for p in found.procedures
    ]
    print_table("Procedures", ["rank", "code", "title", "probability", "because of"], scores)
    _tell_plan(plan)
    _tell_mapping(found.mapping)
    _tell_diagnoses(found.diagnoses)
    remark(NOT_ADVICE)


def _tell_plan(plan: Plan) -> None:
    """What the mass is, how far to trust it, and whether it was solved."""
    remark(f"{plan.reading} {plan.faithfulness}")
    if plan.transport is not None and not plan.transport.converged:
        remark(
            f"The transport did not converge: its marginals are off by {plan.transport.marginal_error:.2g}."
        )


def _show_neighbors(found: Neighbors) -> None:
    for kind, near in (("diagnoses", found.diagnoses), ("procedures", found.procedures)):
        rows = [[n.code, n.title, f"{n.similarity:.3f}"] for n in near]
        print_table(f"Nearest {kind} to {found.code} {found.title}", ["code", "title", "cosine"], rows)


def _model_record(name: str, model: Model) -> dict[str, Any]:
    files = model.files
    sizes = {"diagnoses": len(files.diagnoses), "procedures": len(files.procedures)}
    return {"name": name, "method": files.method, **sizes, "version": files.version, "card": files.card}


def load_model(path: Path | None) -> Model:
    """The model in a folder or of a name; the package's own where none is given."""
    from dx2px.inference import Model
    from dx2px.inference.shipped import model_path

    return Model.load(model_path(path))


def _split(codes: list[str]) -> list[str]:
    return [code.strip() for text in codes for code in text.split(",") if code.strip()]
