"""Table 1 of the paper on MIMIC-III, for those who may use it: sets, their sizes, all runs, every difference.

Run: make luo2019 MIMIC=path/to/mimic-iii, or
     python experiments/luo2019.py path/to/mimic-iii [--out build/luo2019] [--jobs 2] [--run-folds 1]
The folder needs DIAGNOSES_ICD and PROCEDURES_ICD. OUT gets the three sets (cohorts/), the runs with their tables
(runs/; tuned/ has those of the tuned rows) and report.md: the sizes of the sets against the paper's, and each cell of
Table 1 against the paper's with what the difference could come from. An interrupted run goes on where it stopped. OUT
holds stays of a credentialed source: keep it where the source may be kept. report.md holds counts and means alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dx2px.cli.benchmarks import finish, run_jobs
from dx2px.cli.console import check_folder, remark, sleep_while_waiting
from dx2px.errors import Dx2pxError

if TYPE_CHECKING:
    from dx2px.lab.benchmark import Failure, Job
    from dx2px.lab.benchmark.tuned import TunedRow
    from dx2px.lab.recipe import Recipe

ROOT = Path(__file__).parents[1]
SIZES = ("small", "medium", "large")
SOURCE = "mimic3"
WHOLE = "luo2019_all"  # all codes, to try thresholds on


def luo2019(
    mimic: Annotated[Path, typer.Argument(help="The folder of MIMIC-III's tables.")],
    out: Annotated[Path, typer.Option(help="The folder of sets, runs and report.")] = ROOT
    / "build"
    / "luo2019",
    jobs: Annotated[int, typer.Option(help="Runs at a time.", min=1)] = 2,
    run_folds: Annotated[int | None, typer.Option(help="Run only this many of the ten folds.")] = None,
    recipes: Annotated[Path, typer.Option(help="The folder of luo2019_*.toml.")] = ROOT / "experiments",
) -> None:
    """Prepare, check, run, report."""
    sleep_while_waiting()
    check_folder(out)
    from dx2px.lab.recipe import load_recipe

    loaded = [load_recipe(recipes / f"luo2019_{size}.toml") for size in SIZES]
    if run_folds is not None:
        loaded = [replace(one, config=replace(one.config, run_folds=run_folds)) for one in loaded]
    make_cohorts(loaded, mimic, out)
    write_report(loaded, out)
    remark(f"The sizes of the sets are in {out / 'report.md'}; now the runs.")
    failed = run_missing(loaded, jobs, out)
    write_tables(loaded, out)
    write_report(loaded, out)
    finish(failed, out)


def cohort_file(name: str, out: Path) -> Path:
    """Where a set is kept."""
    return out / "cohorts" / f"{name}.parquet"


def make_cohorts(recipes: Sequence[Recipe], mimic: Path, out: Path) -> None:
    """The three sets, and the stays with all their codes, as far as they are not there yet."""
    from dx2px.cohort import prepare

    thresholds = {WHOLE: 1} | {one.name: one.cohort.min_count for one in recipes if one.cohort}
    for name, min_count in thresholds.items():
        path = cohort_file(name, out)
        if path.exists():
            remark(f"{path} is there already and is used; delete it to prepare it again.")
            continue
        for warning in prepare(SOURCE, mimic, path, min_count=min_count).warnings:
            remark(f"Warning: {name}: {warning}")


def planned(recipe: Recipe, out: Path) -> list[Job]:
    """The runs of a set's rows; those of a tuned row once its settings are chosen."""
    from dx2px.lab.benchmark import CohortId, plan

    printed = plan([CohortId.of(cohort_file(recipe.name, out))], recipe.config, out / "runs")
    return printed + [job for row in tuned_rows(recipe, out) for job in row.folds()]


def tuned_rows(recipe: Recipe, out: Path) -> list[TunedRow]:
    """The rows with settings that validation chooses."""
    from dx2px.lab.benchmark import CohortId
    from dx2px.lab.benchmark.tuned import TUNED, TunedRow

    cohort = CohortId.of(cohort_file(recipe.name, out))
    return [TunedRow(cohort, method, recipe.config, out / TUNED) for method in recipe.tuned]


def run_missing(recipes: Sequence[Recipe], workers: int, out: Path) -> list[Failure]:
    """Run what has no result; ask again as long as runs lead to others: trials to trials, and these to folds."""

    def missing() -> list[Job]:
        trials = [job for one in recipes for row in tuned_rows(one, out) for job in row.trials()]
        rows = [job for one in recipes for job in planned(one, out)]
        return [job for job in trials + rows if job.result() is None]

    while jobs := missing():
        if failed := run_jobs(jobs, workers, "luo2019"):
            return failed
    return []


def write_tables(recipes: Sequence[Recipe], out: Path) -> None:
    """The benchmark's own tables, with the published numbers beside them."""
    from dx2px.lab.benchmark.files import write_benchmark

    jobs = [job for one in recipes for job in planned(one, out)]
    published = {key: row for one in recipes for key, row in one.beside({one.name: SOURCE}).items()}
    write_benchmark(jobs, out / "runs", recipes[0].config.methods[-1], published)


def write_report(recipes: Sequence[Recipe], out: Path) -> None:
    """Sizes and cells against the paper's, from whatever is there by now."""
    from dx2px.cohort import Cohort
    from dx2px.lab.benchmark import rows_of
    from dx2px.lab.discrepancies import SetReport, report_markdown
    from dx2px.lab.set_sizes import readings, size_of
    from dx2px.storage import write_text

    whole = Cohort.load(cohort_file(WHOLE, out))
    reports = [
        SetReport(
            one,
            size_of(Cohort.load(cohort_file(one.name, out))),
            readings(whole, one.cohort.min_count),
            rows_of(planned(one, out)),
        )
        for one in recipes
        if one.cohort
    ]
    write_text(out / "report.md", report_markdown(reports))


if __name__ == "__main__":
    try:
        typer.run(luo2019)
    except Dx2pxError as error:
        remark(f"Error: {error}")
        raise SystemExit(1) from None
