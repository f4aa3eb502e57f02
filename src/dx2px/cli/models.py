"""Commands that ask a model: models, recommend, explain, neighbors, export."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dx2px.cli.answers import NOT_ADVICE, show_explanation, show_neighbors, show_recommendation
from dx2px.cli.console import AsJson, print_json, print_table, remark
from dx2px.codes import Notation
from dx2px.errors import InputError
from dx2px.storage import check_place

if TYPE_CHECKING:
    from dx2px.answers import Explanation, Model
    from dx2px.answers.facts import Facts

FormatName = StrEnum("FormatName", ["word2vec", "parquet", "npz"])
PcsName = StrEnum("PcsName", ["icd9pcs", "icd10pcs"])
PlanName = StrEnum("PlanName", ["own", "transport"])
Theme = StrEnum("Theme", ["light", "dark"])
SexName = StrEnum("SexName", ["F", "M"])
KNOWN = "What else is known about the stay"
MODEL = "A model folder, or the name of a model in the package (`dx2px models` lists them)."
ModelOption = Annotated[
    Path | None, typer.Option("--model", help=MODEL, show_default="the package's default model")
]
ModelArgument = Annotated[Path, typer.Argument(help=MODEL)]
Mapping = Annotated[
    bool,
    typer.Option(
        "--map/--no-map",
        help="Translate ICD-10 diagnoses for an ICD-9 model, or the reverse, by the public maps; or refuse them.",
    ),
]
AnswerIn = Annotated[
    PcsName | None,
    typer.Option(
        help="The system of the procedures; families of codes in ICD-10-PCS. Without --model.",
        show_default="as most diagnoses: ICD-10-PCS for ICD-10-CM",
    ),
]
Principal = Annotated[
    str | None,
    typer.Option(help="The principal diagnosis; it need not be listed again.", rich_help_panel=KNOWN),
]
Age = Annotated[float | None, typer.Option(help="Age in years.", min=0, max=130, rich_help_panel=KNOWN)]
Sex = Annotated[
    SexName | None, typer.Option(help="Sex, if known.", case_sensitive=False, rich_help_panel=KNOWN)
]
Admission = Annotated[
    str | None,
    typer.Option(
        help="Type of admission, one that the model knows, such as elective.", rich_help_panel=KNOWN
    ),
]
Coded = Annotated[
    str | None,
    typer.Option(
        help="Procedures that are coded already, separated by commas: what else belongs to the stay?",
        rich_help_panel=KNOWN,
    ),
]
Codes = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="CODES", help="Diagnoses, written as 428.0, 4280 or icd9cm:4280, or in words: heart failure."
    ),
]


def models(json: AsJson = False) -> None:
    """List the models that come with the package."""
    from dx2px.answers import Model
    from dx2px.answers.shipped import DEFAULT, shipped_models

    found = {name: Model.load(folder) for name, folder in shipped_models().items()}
    if json:
        print_json({"models": [_model_record(name, one) for name, one in found.items()]})
        return
    rows = [
        [
            f"{name} (default)" if name == DEFAULT else name,
            one.files.method,
            Notation.of((*one.files.diagnoses, *one.files.procedures)).name,
            len(one.files.diagnoses),
            len(one.files.procedures),
        ]
        for name, one in found.items()
    ]
    columns = ["name", "method", "codes", "diagnoses", "procedures"]
    print_table("Models in this package", columns, rows)
    for name, folder in shipped_models().items():
        remark(f"The model card of {name} is {folder / 'MODEL_CARD.md'}.")


def recommend(
    codes: Codes = None,
    model: ModelOption = None,
    top: Annotated[
        int | None, typer.Option(help="How many procedures to recommend.", min=1, show_default="5")
    ] = None,
    coverage: Annotated[
        float | None,
        typer.Option(
            help="Instead of --top: the set that holds this share (0 to 1) of a stay's procedures on average."
        ),
    ] = None,
    principal: Principal = None,
    age: Age = None,
    sex: Sex = None,
    admission: Admission = None,
    coded: Coded = None,
    map: Mapping = True,  # noqa: A002
    answer_in: AnswerIn = None,
    json: AsJson = False,
) -> None:
    """Recommend procedures for a stay's diagnoses, with reasons.

    \b
    Examples:
      dx2px recommend 585.6 427.5 --top 3
      dx2px recommend 820.21 --principal 820.21 --age 81 --sex F --coded 79.35
      dx2px recommend N18.6 I46.9
      dx2px recommend N18.6 I46.9 --answer-in icd9pcs
      dx2px recommend 585.6 427.5 --model MODEL --json
    """
    if top is not None and coverage is not None:
        raise InputError(
            "Give --top or --coverage, not both: the coverage decides how many procedures there are."
        )
    facts = _facts(principal, age, sex, admission, coded)
    loaded = _model_for(_split(codes or []), facts, model, answer_in)
    read = _read(loaded, codes)
    found = loaded.recommend(read, top or 5, coverage=coverage, map=map, **facts)
    if json:
        print_json(found.to_dict())
    else:
        show_recommendation(found, _typed(loaded, read, facts), _written(loaded, facts))
        remark(NOT_ADVICE)


def explain(
    codes: Codes = None,
    model: ModelOption = None,
    procedures: Annotated[
        str | None,
        typer.Option(help="Procedures to explain, separated by commas.", show_default="the best, see --top"),
    ] = None,
    top: Annotated[int, typer.Option(help="How many of the best procedures to explain.", min=1)] = 5,
    principal: Principal = None,
    age: Age = None,
    sex: Sex = None,
    admission: Admission = None,
    coded: Coded = None,
    map: Mapping = True,  # noqa: A002
    answer_in: AnswerIn = None,
    plan: Annotated[
        PlanName, typer.Option(help="The model's own plan, or the paper's transport plan.")
    ] = PlanName["own"],
    out: Annotated[
        Path | None,
        typer.Option(help="Save as .html (interactive, opens offline), .png, .svg, .pdf or .json."),
    ] = None,
    theme: Annotated[Theme, typer.Option(help="Colours of a .png, .svg or .pdf.")] = Theme["light"],
    json: AsJson = False,
) -> None:
    """Show how a stay's diagnoses lead to its procedures.

    Each diagnosis has a significance, and the plan says how much of it goes to which procedure.

    \b
    Examples:
      dx2px explain 585.6 427.5 518.81
      dx2px explain 585.6 427.5 --procedures 39.95,96.04
      dx2px explain 585.6 427.5 --out why.html
    """
    if out is not None:
        _check_explanation(out)
    asked = _split([procedures]) if procedures else None
    facts = _facts(principal, age, sex, admission, coded)
    loaded = _model_for(_split(codes or []), facts, model, answer_in)
    read = _read(loaded, codes)
    found = loaded.explain(read, asked, top, map=map, plan=plan.value, **facts)  # type: ignore[arg-type]
    if out is not None:
        _save_explanation(found, out, theme)
        remark(f"The explanation is in {out}. {NOT_ADVICE}")
    if json:
        print_json(found.to_dict())
    elif out is None:
        show_explanation(found, _typed(loaded, read, facts), _written(loaded, facts, asked or ()))
        remark(NOT_ADVICE)


def _read(model: Model, codes: list[str] | None) -> list[str]:
    """The diagnoses of a question; a remark says which code words were read as."""
    from dx2px.answers.advice import read_words

    read, readings = read_words(model, codes or [])
    for one in readings:
        remark(one.sentence)
    return read


def _typed(model: Model, read: Sequence[str], facts: Facts) -> set[str]:
    """The diagnoses that were typed."""
    principal = facts.get("principal")
    return {model.diagnoses.find(one).code for one in (*read, *([principal] if principal else []))}


def _written(model: Model, facts: Facts, asked: Sequence[str] = ()) -> dict[str, list[str]]:
    """The procedures that were typed, by the family of codes that the model knows them by."""
    found: dict[str, list[str]] = {}
    for text in (*(facts.get("coded") or ()), *asked):
        code, own = model.procedures.find(text).code, model.procedures.written(text)
        if own != code:
            found.setdefault(code, []).append(own)
    return found


def _facts(
    principal: str | None, age: float | None, sex: SexName | None, admission: str | None, coded: str | None
) -> Facts:
    """The options that tell about the stay, as `Model.recommend` takes them."""
    return {
        "principal": principal,
        "age": age,
        "sex": sex.value if sex else None,
        "admission": admission,
        "coded": _split([coded]) if coded else None,
    }


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
    code: Annotated[
        list[str],
        typer.Argument(
            metavar="CODE", help="A diagnosis or procedure, such as 428.0; words get suggestions."
        ),
    ],
    model: ModelOption = None,
    top: Annotated[int, typer.Option(help="How many codes of each kind to list.", min=1)] = 10,
    json: AsJson = False,
) -> None:
    """List the codes whose vectors are closest to a code's vector."""
    found = load_model(model).neighbors(" ".join(code), top)
    if json:
        print_json(found.to_dict())
    else:
        show_neighbors(found)


def export(
    out: Annotated[Path, typer.Option(help="The file to write.")],
    model: ModelOption = None,
    format: Annotated[  # noqa: A002
        FormatName | None,
        typer.Option(
            help="Format of the file.",
            show_default="from its ending: .parquet, .npz, .txt or .vec (word2vec)",
        ),
    ] = None,
) -> None:
    """Write the vectors of all codes to a file, for other tools."""
    from dx2px.answers.export import export as write
    from dx2px.answers.export import format_of

    check_place(out)
    chosen = format_of(out, format.value if format else None)  # type: ignore[arg-type]
    write(load_model(model), out, chosen)
    remark(f"The vectors are in {out}.")


def _model_record(name: str, model: Model) -> dict[str, Any]:
    files = model.files
    sizes = {"diagnoses": len(files.diagnoses), "procedures": len(files.procedures)}
    about = {"version": files.version, "measured": files.measured, "card": files.card}
    return {"name": name, "method": files.method, **sizes, **about}


def load_model(path: Path | None) -> Model:
    """The model in a folder, or the package's model of that name; without a name, the package's default."""
    from dx2px.answers import Model
    from dx2px.answers.shipped import model_path

    return Model.load(model_path(path))


def model_for_stays(stays: Path, path: Path | None, answer_in: PcsName | None, *, audit: bool) -> Model:
    """The model for a file of stays: without a name, the package's one that answers as its first stays are coded."""
    from dx2px.answers import Model
    from dx2px.answers.population_file import coded_in

    if path is not None:
        return Model.load(path, answer_in=answer_in.value if answer_in else None)  # type: ignore[arg-type]
    chosen = answer_in.value if answer_in else coded_in(stays, audit=audit)
    if chosen == PcsName["icd10pcs"].value and answer_in is None:
        remark(
            "The stays are coded in ICD-10, so the answer is in ICD-10-PCS; --answer-in icd9pcs asks for ICD-9."
        )
    return Model.load(answer_in=chosen)  # type: ignore[arg-type]


def _model_for(codes: list[str], facts: Facts, path: Path | None, answer_in: PcsName | None) -> Model:
    """The model that answers a question: without a name, the package's one that answers as it is asked."""
    from dx2px.answers import Model
    from dx2px.answers.shipped import asked_in

    if path is not None:
        return Model.load(path, answer_in=answer_in.value if answer_in else None)  # type: ignore[arg-type]
    principal = facts.get("principal")
    chosen = answer_in.value if answer_in else asked_in([*codes, *([principal] if principal else [])])
    return Model.load(answer_in=chosen)  # type: ignore[arg-type]


def _split(codes: list[str]) -> list[str]:
    return [code.strip() for text in codes for code in text.split(",") if code.strip()]
