"""Commands that compare: benchmark and sweep."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dx2px.cli.benchmark_tables import show_benchmark, show_sweep
from dx2px.cli.board import board
from dx2px.cli.console import check_folder, remark, sleep_while_waiting
from dx2px.cli.learning import SplitName, check_cohorts
from dx2px.errors import InputError
from dx2px.words import counted

if TYPE_CHECKING:
    from dx2px.lab.benchmark import Failure, Job
    from dx2px.lab.recipe import Recipe

OverName = StrEnum("OverName", ["dim", "alpha", "heads"])
Out = Annotated[Path, typer.Option(help="Folder of the results; runs found there are not run again.")]
Jobs = Annotated[int, typer.Option(help="Runs at the same time; they share the cores.", min=1)]


def benchmark(
    out: Out,
    cohorts: Annotated[list[Path] | None, typer.Argument(help="Cohort files.")] = None,
    cohort: Annotated[list[Path] | None, typer.Option(help="A cohort file, as an option.")] = None,
    methods: Annotated[str | None, typer.Option(help="Comma-separated; all by default.")] = None,
    folds: Annotated[int | None, typer.Option(help="Folds inside the 80 % [default: 10].")] = None,
    run_folds: Annotated[int | None, typer.Option(help="Run only this many folds, the first ones.")] = None,
    split_by: Annotated[
        SplitName | None, typer.Option(help="What the split keeps whole [default: stay].")
    ] = None,
    recipe: Annotated[
        Path | None, typer.Option(help="A TOML file with settings and published numbers.")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(help="The method to compare all others with, stay by stay [default: last]."),
    ] = None,
    jobs: Jobs = 1,
) -> None:
    """Compare methods on cohorts by cross-validation.

    Makes tables with intervals, paired comparisons and a plot. OUT gets results.md, .tex, .html, .png, comparisons.md,
    runs.parquet (one row per run) and hits.parquet (the hits of each test stay). An interrupted benchmark goes on where
    it stopped. A run that fails is shown with its reason.
    """
    sleep_while_waiting()
    files = [*(cohorts or []), *(cohort or [])]
    if not files:
        raise InputError("Name at least one cohort file.")
    check_cohorts(*files)
    check_folder(out)
    from dx2px.lab.benchmark import plan
    from dx2px.lab.benchmark.files import write_benchmark
    from dx2px.lab.recipe import load_recipe

    loaded = load_recipe(recipe) if recipe else None
    config = _config(loaded.config if loaded else None, methods, folds, run_folds, split_by)
    if against and against not in config.methods:
        raise InputError(f"--against {against}: it is not among the methods, {', '.join(config.methods)}.")
    planned = plan(files, config, out)
    failed = run_jobs(planned, jobs, "benchmark")
    published = _published(loaded, files) if loaded else None
    rows = write_benchmark(planned, out, against or config.methods[-1], published)
    show_benchmark(rows, published or {})
    finish(failed, out)


def sweep(
    cohort: Annotated[Path, typer.Argument(help="A cohort file.")],
    over: Annotated[OverName, typer.Option(help="The setting to vary.")],
    out: Out,
    method: Annotated[str, typer.Option(help="The paper's model or a variant of it.")] = "e+sa+ma",
    values: Annotated[str | None, typer.Option(help="Comma-separated, instead of the paper's.")] = None,
    folds: Annotated[int, typer.Option(help="Folds inside the 80 %.")] = 10,
    run_folds: Annotated[int, typer.Option(help="Run only this many folds, the first ones.")] = 3,
    jobs: Jobs = 1,
) -> None:
    """Show how F1 depends on one setting of the paper's model.

    The setting is the dimension, the transport weight or the number of heads, as in the paper's figure.
    """
    sleep_while_waiting()
    check_cohorts(cohort)
    check_folder(out)
    from dx2px.lab.benchmark.files import write_sweeps
    from dx2px.lab.benchmark.sweep import SweepConfig, plan_sweep

    grid = tuple(_number(over.value, text) for text in values.split(",")) if values else ()
    planned = plan_sweep(cohort, SweepConfig(over.value, method, grid, folds, run_folds), out)
    failed = run_jobs([job for some in planned.values() for job in some], jobs, f"sweep over {over.value}")
    for rows in write_sweeps(over.value, [planned], out):
        show_sweep(over.value, rows)
    finish(failed, out)


def _config(
    given: Any, methods: str | None, folds: int | None, run_folds: int | None, by: SplitName | None
) -> Any:
    """A recipe's settings, or the defaults, overridden by the user's options."""
    from dataclasses import replace

    from dx2px.lab.benchmark import BenchmarkConfig

    said: dict[str, Any] = {"folds": folds, "run_folds": run_folds, "split_by": by.value if by else None}
    said["methods"] = tuple(filter(None, map(str.strip, methods.split(",")))) if methods else None
    return replace(
        given or BenchmarkConfig(), **{name: value for name, value in said.items() if value is not None}
    )


def _published(recipe: Recipe, files: list[Path]) -> dict[tuple[str, str], tuple[float, ...]]:
    """A recipe's published numbers for the cohorts they belong to; a remark names the other cohorts."""
    from dx2px.cohort import CohortFile

    sources = {file.stem: str(CohortFile(file).provenance.get("source", "unknown")) for file in files}
    found = recipe.beside(sources)
    others = [name for name in sources if name not in {cohort for cohort, _ in found}]
    if recipe.published and others:
        remark(
            f"The published numbers of {recipe.name} are of {recipe.source} stays; "
            f"they are not shown beside {', '.join(others)}."
        )
    return found


def run_jobs(jobs: list[Job], workers: int, what: str) -> list[Failure]:
    """Run what has no result yet and show the progress; return what failed."""
    from dx2px.lab.benchmark import run_all

    others = sum(job.kept() is not None and job.result() is None for job in jobs)
    if others:
        remark(
            f"{counted(others, 'kept run')} had other stays or other settings; these are replaced by new runs."
        )
    with board(what) as tell:
        return run_all(jobs, workers, tell)


def finish(failures: list[Failure], out: Path) -> None:
    """Say where the results are; an error if runs failed."""
    for failure in failures:
        remark(f"Failed: {failure.job.title}: {failure.reason}")
    if failures:
        raise InputError(
            f"{counted(len(failures), 'run')} failed; the others are in {out}. The same command tries again."
        )
    remark(f"The results are in {out}.")


def _number(name: str, text: str) -> float:
    try:
        return float(text) if name == "alpha" else int(text)
    except ValueError:
        raise InputError(f"{text!r} is not a value of {name}.") from None
