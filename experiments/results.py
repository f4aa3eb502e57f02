"""All results of `experiments/results.toml`: prepare the cohorts, run what is not kept, make every table and figure.

Run: python experiments/results.py [--data ../shared/data] [--cohorts build/cohorts] [--jobs 2] [--tables-only]
An interrupted run goes on where it stopped: each (cohort, method, fold) is a file under results/. Documents are renewed
between their markers, so their numbers are those of the kept runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dx2px.cli.benchmarks import run_jobs
from dx2px.cli.console import remark, sleep_while_waiting
from dx2px.errors import Dx2pxError, InputError

if TYPE_CHECKING:
    from dx2px.cohort import Summary
    from dx2px.evaluation.benchmark import Job
    from dx2px.evaluation.benchmark.tables import Row
    from dx2px.evaluation.experiment import CohortSpec, Experiment

ROOT = Path(__file__).parents[1]
FILE = ROOT / "experiments" / "results.toml"
RESULTS = ROOT / "results"
DATA = ROOT.parent / "shared" / "data"
NOTHING = "*No run is kept yet.*"
SLOW = ("dwl", "gwl")
DOCUMENTS = ("README.md", "docs/results.md", "benchmarks/README.md")


def results(
    data: Annotated[Path, typer.Option(help="The folder of the open data.")] = DATA,
    cohorts: Annotated[Path, typer.Option(help="Where cohort files are kept.")] = ROOT / "build" / "cohorts",
    jobs: Annotated[int, typer.Option(help="Runs at a time.", min=1)] = 2,
    tables_only: Annotated[
        bool, typer.Option(help="Run nothing; make the tables from the kept runs.")
    ] = False,
    experiment: Annotated[Path, typer.Option(help="What to run.")] = FILE,
    out: Annotated[Path, typer.Option(help="The folder of the results.")] = RESULTS,
) -> None:
    """Run what is not kept yet, then make tables, figures and, of this project's own results, its documents."""
    sleep_while_waiting()
    from dx2px.evaluation.experiment import load_experiment

    loaded = load_experiment(experiment)
    problems = [] if tables_only else run_missing(loaded, data, cohorts, jobs, out)
    write_tables(loaded, out)
    if (experiment, out) == (FILE, RESULTS):
        write_documents(loaded, out)
        remark(f"Renewed: {', '.join(DOCUMENTS)}.")
    if problems:
        raise InputError(" ".join(problems))
    remark(f"Tables and figures are in {out}.")


def run_missing(experiment: Experiment, data: Path, cohorts: Path, workers: int, out: Path) -> list[str]:
    """Make the cohorts that are needed and run all jobs without a result; what could not be done, in sentences."""
    problems = []
    everything = [job for some in plans(experiment, out, cohorts).values() for job in some]
    waiting = {job.name for job in everything if job.result() is None}
    for spec in experiment.cohorts:
        drawn = (out / "cohorts" / f"{spec.name}.json").exists()
        measured = not spec.preset or attainable_file(spec, out).exists()
        if spec.name not in waiting and drawn and measured:
            continue
        try:
            make_cohort(spec, data, cohorts)
        except InputError as error:
            problems.append(str(error))
            everything = [job for job in everything if job.name != spec.name]
        else:
            summarise(experiment, spec, cohorts, out)
    failed = run_jobs(everything, workers, "results")
    reasons = [f"{job.file.relative_to(out)}: {job.failure.read_text().strip()}." for job in failed]
    return problems + reasons


def make_cohort(spec: CohortSpec, data: Path, cohorts: Path) -> None:
    """The cohort file, unless it is there already; it must be the one that the kept runs are of."""
    from dx2px.cohort import prepare
    from dx2px.cohort.synthetic import PRESETS, synthesize
    from dx2px.evaluation.benchmark import CohortId

    path = spec.at(cohorts)
    if not path.exists() and spec.preset:
        synthesize(path, PRESETS[spec.preset])
    elif not path.exists():
        source = data / str(spec.file)
        if not source.is_file():
            raise InputError(
                f"{spec.name} was left out: {source} is absent (say where the open data lie with DATA=…)."
            )
        prepare("nhds", source, path, min_count=spec.min_count)
    if CohortId.of(path).data != spec.data:
        raise InputError(
            f"{spec.name} was left out: {path} does not hold the stays that the kept runs are of."
        )


def summarise(experiment: Experiment, spec: CohortSpec, cohorts: Path, out: Path) -> None:
    """Keep a cohort's numbers, from which its histograms can be drawn again, and what can be attained on it."""
    from dx2px.cohort import Cohort, describe
    from dx2px.cohort.splits import split_cohort
    from dx2px.cohort.synthetic import Truth
    from dx2px.evaluation.attainable import attainable
    from dx2px.storage import write_text

    cohort = Cohort.load(spec.at(cohorts))
    write_text(out / "cohorts" / f"{spec.name}.json", json.dumps(asdict(describe(cohort, top=0)), indent=1))
    if spec.preset:
        links = Truth.load(spec.at(cohorts)).links
        best = attainable(cohort, links, split_cohort(cohort, by=experiment.config.split_by).test)
        write_text(attainable_file(spec, out), json.dumps(best.to_dict(), indent=1))


def attainable_file(spec: CohortSpec, out: Path) -> Path:
    """Where the best that any method could do on a synthetic cohort is kept."""
    return out / "cohorts" / f"{spec.name}.attainable.json"


def plans(experiment: Experiment, out: Path, cohorts: Path = Path()) -> dict[str, list[Job]]:
    """All jobs, by part: the groups of cohorts, then the sweeps."""
    parts = {group: experiment.jobs(group, cohorts, out) for group in experiment.groups}
    sweeps = experiment.sweep_jobs(cohorts, out)
    return parts | {"sweeps": [job for by in sweeps.values() for some in by.values() for job in some]}


def write_tables(experiment: Experiment, out: Path) -> None:
    """The files of every group and sweep, and the histograms."""
    from dx2px.report.benchmark_files import write_benchmark, write_sweep
    from dx2px.report.histograms import save_histogram_row

    for group in experiment.groups:
        write_benchmark(experiment.jobs(group, Path(), out), out / group, experiment.against)
        if kept := summaries(experiment, group, out):
            save_histogram_row(kept, out / "cohorts" / f"{group}.png")
    for over, planned in experiment.sweep_jobs(Path(), out).items():
        write_sweep(over, planned, out / "sweeps")


def summaries(experiment: Experiment, group: str, out: Path) -> dict[str, Summary]:
    """The kept numbers of a group's cohorts."""
    from dx2px.cohort import KindSummary, Summary

    found = {}
    for spec in experiment.cohorts:
        file = out / "cohorts" / f"{spec.name}.json"
        if spec.group == group and file.exists():
            record = json.loads(file.read_text(encoding="utf-8"))
            kinds = {kind: KindSummary(**record[kind]) for kind in ("diagnoses", "procedures")}
            found[spec.name] = Summary(**(record | kinds))
    return found


def write_documents(experiment: Experiment, out: Path) -> None:
    """Renew the made parts of the documents."""
    from dx2px.report.blocks import with_blocks
    from dx2px.storage import write_text

    made = blocks(experiment, out)
    for name in DOCUMENTS:
        path = ROOT / name
        old = path.read_text(encoding="utf-8")
        new = with_blocks(old, made)
        if new != old:
            write_text(path, new)


def blocks(experiment: Experiment, out: Path) -> dict[str, str]:
    """Every made part of the documents, by name."""
    from dx2px.evaluation.benchmark import compare, rows_of, rules_of
    from dx2px.report.benchmark import markdown, summary_markdown
    from dx2px.report.benchmark_costs import costs_markdown, plan_markdown
    from dx2px.report.comparisons import f1_markdown
    from dx2px.report.scoring_rules import rules_markdown

    made = {"plan": plan_markdown(budget(experiment, out))}
    for group in experiment.groups:
        jobs = experiment.jobs(group, Path(), out)
        rows = rows_of(jobs)
        made |= {
            f"cohorts {group}": cohorts_markdown(summaries(experiment, group, out)),
            f"summary {group}": summary_markdown(rows) if rows else "",
            f"table {group}": markdown(rows).replace("### ", "#### "),
            f"folds {group}": missing_markdown(jobs),
            f"comparisons {group}": f1_markdown(pairs)
            if (pairs := compare(jobs, experiment.against))
            else "",
            f"rules {group}": rules_markdown(rules) if (rules := rules_of(jobs)) else "",
            f"costs {group}": costs_markdown(rows) if rows else "",
        }
        if any(spec.preset for spec in experiment.cohorts if spec.group == group):
            best = attainables(experiment, group, out)
            made[f"attainable {group}"] = attainable_markdown(best, rows) if best else ""
    return {name: text or NOTHING for name, text in (made | sweep_blocks(experiment, out)).items()}


def budget(experiment: Experiment, out: Path) -> dict[str, list[Job]]:
    """All jobs, by part, the two slowest methods apart."""
    parts = {}
    for name, jobs in plans(experiment, out).items():
        slow = [job for job in jobs if job.method in SLOW]
        parts[f"{name}, without DWL and GWL" if slow else name] = [job for job in jobs if job not in slow]
        if slow:
            parts[f"{name}, DWL and GWL"] = slow
    return parts


def sweep_blocks(experiment: Experiment, out: Path) -> dict[str, str]:
    """A table for each sweep."""
    from dx2px.evaluation.benchmark import rows_of
    from dx2px.report.sweep import sweep_markdown

    made = {}
    for over, planned in experiment.sweep_jobs(Path(), out).items():
        rows = {value: found[0] for value, jobs in planned.items() if (found := rows_of(jobs))}
        made[f"sweep {over}"] = sweep_markdown(over, rows) if rows else ""
    figures = [f"![F1 against {over}](../results/sweeps/{over}.png)" for over in planned_with_runs(made)]
    return made | {"figures sweeps": "\n".join(figures)}


def planned_with_runs(made: Mapping[str, str]) -> list[str]:
    """The settings whose sweeps have a table."""
    return [name.removeprefix("sweep ") for name, text in made.items() if text]


def cohorts_markdown(kept: Mapping[str, Summary]) -> str:
    """What the cohorts hold."""
    head = ("cohort", "stays", "diagnoses", "a stay", "procedures", "a stay")
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name, one in kept.items():
        kinds = (one.diagnoses, one.procedures)
        cells = " | ".join(f"{kind.codes:,} | {kind.mean:.2f}" for kind in kinds)
        lines.append(f"| {name} | {one.stays:,} | {cells} |")
    return "\n".join(lines) + "\n"


def attainables(experiment: Experiment, group: str, out: Path) -> dict[str, dict[str, float]]:
    """F1 of the best possible ranking on each synthetic cohort of a group, by L, where it is kept."""
    files = {spec.name: attainable_file(spec, out) for spec in experiment.cohorts if spec.group == group}
    return {
        name: {L: one["f1"] for L, one in json.loads(file.read_text(encoding="utf-8"))["top"].items()}
        for name, file in files.items()
        if file.exists()
    }


def attainable_markdown(best: Mapping[str, Mapping[str, float]], rows: Sequence[Row]) -> str:
    """What can be attained, then the share of it that each method reaches, per cent."""
    columns = [(cohort, L) for L in ("1", "5") for cohort in best]
    head = [f"{cohort}, F1@{L}" for cohort, L in columns]
    found = {(row.cohort, row.method): row for row in rows}
    lines = [f"| | {' | '.join(head)} |", "|---" * (len(head) + 1) + "|"]
    lines.append(f"| attainable F1 | {' | '.join(f'{best[cohort][L]:.1f}' for cohort, L in columns)} |")
    for method in dict.fromkeys(row.method for row in rows):
        shares = [
            f"{100 * found[cohort, method].cells[L, 'f1'].mean / best[cohort][L]:.1f}"
            if (cohort, method) in found
            else "–"
            for cohort, L in columns
        ]
        lines.append(f"| {method}, % of it | {' | '.join(shares)} |")
    return "\n".join(lines) + "\n"


def missing_markdown(jobs: Sequence[Job]) -> str:
    """Which planned folds are not in the table yet, so that no reader takes a part for the whole."""
    missing: dict[str, dict[str, int]] = {}
    for job in jobs:
        if job.result() is None:
            by_method = missing.setdefault(job.name, {})
            by_method[job.method] = by_method.get(job.method, 0) + 1
    if not missing:
        return "Every planned fold is in.\n"
    parts = (
        f"{name}: {', '.join(f'{method} {number}' for method, number in some.items())}"
        for name, some in missing.items()
    )
    return "Folds still to run, by cohort and method. " + ". ".join(parts) + ".\n"


if __name__ == "__main__":
    try:
        typer.run(results)
    except Dx2pxError as error:
        remark(f"Error: {error}")
        raise SystemExit(1) from None
