"""The demonstration: the package's own model answers, then a model is made from nothing, explained and reported."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dx2px.cli import cohorts, learning, models, reporting
from dx2px.cli.console import remark

EXAMPLES = 3
QUESTIONS = {
    "A broken hip in old age, with heart failure": ["820.21", "428.0", "401.9", "V43.64"],
    "Kidney failure on dialysis, with a cardiac arrest": ["585.6", "427.5", "V45.11"],
    "A heart attack with diabetes": ["410.71", "414.01", "250.00", "272.4"],
}


def demo(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder for everything the demonstration writes.")] = Path("demo"),
    stays: Annotated[
        int | None, typer.Option(help="How many stays to invent [default: as many as the paper's small set].")
    ] = None,
) -> None:
    """Ask the package's own model, then synthesize a cohort, describe it, learn from it, explain its stays, report."""
    for question, codes in QUESTIONS.items():
        remark(f"\n{question}: dx2px recommend {' '.join(codes)} --top 3")
        models.recommend(codes, top=3)
    cohort, model = out / "small.parquet", out / "model"
    cohorts.synthesize(out=cohort, stays=stays)
    cohorts.describe(cohort, plot=out / "histograms.png")
    learning.train(context, cohort, out=model)
    _explain_stays(cohort, model, out / "explanation.png")
    page = out / "report.html"
    reporting.write_report(model, cohort, page)
    remark(
        f"Everything is in {out}. The stays are invented; real tables: dx2px prepare --help.\n"
        f"Ask the model yourself: dx2px recommend --model {model} 585.6 427.5\n"
        f"The report, one page about all of it: open {page.resolve().as_uri()}"
    )


def _explain_stays(cohort: Path, model: Path, figure: Path) -> None:
    """The first test stays with three to eight diagnoses: recommendations with reasons, and one figure."""
    from dx2px.cohort import Cohort
    from dx2px.evaluation.parts import learning_part
    from dx2px.inference import Model
    from dx2px.report.explanation import save_explanation

    loaded = Model.load(model)
    test = learning_part(loaded.files, Cohort.load(cohort), "test")
    chosen = [row for row in range(len(test)) if 3 <= len(test.diagnoses[row]) <= 8][:EXAMPLES]
    for row in chosen:
        models.show_recommendation(loaded.recommend(test.diagnoses_of(row)))
    save_explanation(loaded.explain(test.diagnoses_of(chosen[0])), figure)
