"""The demonstration: the package's model answers, then a new one is learned from synthetic stays and explained."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dx2px.cli import cohorts, learning, reporting
from dx2px.cli.answers import NOT_ADVICE, show_recommendation
from dx2px.cli.console import check_folder, remark

if TYPE_CHECKING:
    from dx2px.answers import Model

LISTED = 5  # most frequent codes of each kind
NEEDED = (
    "torch",
    "matplotlib",
)  # for the later steps: to know at the start is better than after the second one


def demo(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder for everything that is written.")] = Path("demo"),
    stays: Annotated[
        int | None,
        typer.Option(help="Number of synthetic stays.", show_default="28,315, as in the paper's small set"),
    ] = None,
) -> None:
    """See everything once: ask, prepare, train, explain, report.

    It asks the model in the package, then makes synthetic stays, learns a model from them and explains one stay.
    """
    _check_installed()
    check_folder(out)
    names = ("small.parquet", "model", "why.html", "explanation.png", "report.html")
    cohort, model, why, figure, page = (out / name for name in names)
    remark("1. The model in the package answers. It learned from US hospital stays (NHDS 2010).")
    _answer_questions(why, figure)
    remark("2. A cohort is made of synthetic stays, with known causes.")
    cohorts.synthesize(out=cohort, stays=stays)
    cohorts.describe(cohort, plot=out / "histograms.png", top=LISTED)
    remark("\n3. A model learns from them. The test stays are not used for learning.")
    learning.train(context, cohort, out=model, overwrite=True)
    remark("\n4. The model explains one of the test stays.")
    _explain_stay(cohort, model)
    remark("5. One page reports on all of it.")
    reporting.write_report(model, cohort, page)
    _say_what_next(out, model, why, page)


def _check_installed() -> None:
    for name in NEEDED:
        if find_spec(name) is None:
            raise ModuleNotFoundError(name=name)


def _answer_questions(why: Path, figure: Path) -> None:
    """How good the package's model is, its answers, and the first of them as a page and as a figure."""
    from dx2px.cli.models import load_model
    from dx2px.report.explanation import save_explanation
    from dx2px.report.page.package import QUESTIONS

    model, program = load_model(None), _program()
    _say_how_good(model)
    for question, codes in QUESTIONS.items():
        remark(f"\n{question}: {program} recommend {' '.join(codes)} --top 3")
        show_recommendation(model.recommend(codes, 3))
    explained = model.explain(next(iter(QUESTIONS.values())))
    for place in (why, figure):
        save_explanation(explained, place)
    remark(f"The first answer is drawn in {why} and {figure}. {NOT_ADVICE}\n")


def _say_how_good(model: Model) -> None:
    measured = model.files.measured
    if measured is not None:
        five = measured["top"]["5"]
        remark(
            f"Measured on {measured['stays']:,} stays that it did not learn from: its first five procedures hold "
            f"{five['recall']:.0f}% of those coded, and {five['precision']:.0f}% of the five were coded. `dx2px "
            "models` says where its model card is."
        )


def _explain_stay(cohort: Path, model: Path) -> None:
    """Show the first test stay that fits on a screen."""
    from dx2px.answers import Model
    from dx2px.cohort import Cohort
    from dx2px.report.example_facts import shown_facts
    from dx2px.scoring.measured import learning_part

    loaded = Model.load(model)
    test = learning_part(loaded.files, Cohort.load(cohort), "test")
    row = next((row for row in range(len(test)) if 3 <= len(test.diagnoses[row]) <= 8), 0)
    [facts] = shown_facts(loaded.layout, test, [row])
    show_recommendation(loaded.recommend(test.diagnoses_of(row), **facts))


def _say_what_next(out: Path, model: Path, why: Path, page: Path) -> None:
    program = _program()
    steps = {
        "recommend 585.6 427.5": "ask the package's model",
        f"recommend 585.6 427.5 --model {model}": "ask the new one",
        "find heart failure": "look up codes",
        "prepare --help": "use your own stays",
    }
    width = max(map(len, steps))
    lines = [f"  {program} {words.ljust(width)}  {purpose}" for words, purpose in steps.items()]
    remark(
        f"\nDone. Everything is in {out}. Open in a browser:\n"
        f"  {why.resolve().as_uri()}\n"
        f"  {page.resolve().as_uri()}\n"
        "These stays are synthetic, so the new model says nothing about patients. Where to go from here:"
    )
    remark("\n".join(lines))
    if program not in ("dx2px", "python -m dx2px"):
        remark(f"To type just `dx2px`, first run: source {Path(program).parent / 'activate'}")


def _program() -> str:
    """How the user can call dx2px again: by name if it is on the path, else as it was called now."""
    called = Path(sys.argv[0])
    if called.name != "dx2px":
        return "python -m dx2px"
    found = shutil.which("dx2px")
    return "dx2px" if found and Path(found).resolve() == called.resolve() else str(called)
