"""All results of `experiments/results.toml`: prepare the cohorts, run what is not kept, make every table and figure.

Run: python experiments/results.py [--data ../shared/data] [--cohorts build/cohorts] [--jobs 2] [--tables-only]
An interrupted run goes on where it stopped: every run that has ended is kept under results/. The parts of documents
between markers are regenerated, so their numbers are those of the kept runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dx2px.cli.benchmarks import run_jobs
from dx2px.cli.console import remark, sleep_while_waiting
from dx2px.errors import Dx2pxError, InputError

if TYPE_CHECKING:
    from dx2px.cohort import KindSummary, Summary
    from dx2px.lab.benchmark import Failure, Job
    from dx2px.lab.benchmark.tables import Row
    from dx2px.lab.experiment import CohortSpec, Experiment

ROOT = Path(__file__).parents[1]
FILE = ROOT / "experiments" / "results.toml"
RESULTS = ROOT / "results"
DATA = ROOT.parent / "shared" / "data"
NOTHING = "*No run is kept yet.*"
SLOW = ("dwl", "gwl")
DOCUMENTS = ("README.md", "docs/results.md", "docs/results-tables.md", "benchmarks/README.md")
# The README's table: real stays, the medium size, and the methods that a newcomer wants to see.
HEADLINE_COHORT = "nhds_medium"
HEADLINE = {
    "popularity": "the most frequent procedures",
    "bpr": "the paper's best baseline",
    "mlp": "a plain neural network",
    "e+pooling": "the paper's simplest variant",
    "e+sa+ma": "the paper's full model, as printed",
    "e+sa+ma, tuned": "the same, tuned on validation",
    "coupling": "the default of dx2px",
}


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
    """Run what is not kept yet, then make tables and figures, and for this project's own results its documents."""
    sleep_while_waiting()
    from dx2px.lab.experiment import load_experiment

    loaded = load_experiment(experiment)
    problems = [] if tables_only else run_missing(loaded, data, cohorts, jobs, out)
    write_tables(loaded, out)
    if (experiment, out) == (FILE, RESULTS):
        write_documents(loaded, out)
        remark(f"Regenerated: {', '.join(DOCUMENTS)}.")
    if problems:
        raise InputError(" ".join(problems))
    remark(f"Tables and figures are in {out}.")


def run_missing(experiment: Experiment, data: Path, cohorts: Path, workers: int, out: Path) -> list[str]:
    """Make the cohorts that are needed and run all jobs without a result; returns what could not be done."""
    waiting = {job.name for job in missing(experiment, out, cohorts)}
    described = kept_cohorts(out)
    absent: dict[str, str] = {}
    for spec in experiment.cohorts:
        if spec.name not in waiting and spec.name in described:
            continue
        try:
            make_cohort(spec, data, cohorts)
        except InputError as error:
            absent[spec.name] = str(error)
        else:
            summarise(experiment, spec, cohorts, out)
    failures: list[Failure] = []
    # The trials of tuned rows come one after another, and then their folds: ask again until nothing is left.
    while not failures and (jobs := [j for j in missing(experiment, out, cohorts) if j.name not in absent]):
        failures = run_jobs(jobs, workers, "results")
    return [*absent.values(), *(f"{failure.job.title}: {failure.reason}." for failure in failures)]


def missing(experiment: Experiment, out: Path, cohorts: Path) -> list[Job]:
    """The jobs without a result, as far as they are known."""
    planned = [job for some in plans(experiment, out, cohorts).values() for job in some]
    return [job for job in planned if job.result() is None]


def make_cohort(spec: CohortSpec, data: Path, cohorts: Path) -> None:
    """The cohort file, unless it is there already; it must hold the stays of the kept runs."""
    from dx2px.cohort import prepare
    from dx2px.lab.benchmark import CohortId
    from dx2px.lab.synthetic import PRESETS, synthesize

    path = spec.at(cohorts)
    if not path.exists() and spec.preset:
        synthesize(path, PRESETS[spec.preset])
    elif not path.exists():
        source = data / str(spec.file)
        if not source.is_file():
            raise InputError(
                f"{spec.name} was left out: {source} is absent. Name the folder of the open data: DATA=FOLDER."
            )
        prepare("nhds", source, path, min_count=spec.min_count)
    if CohortId.of(path).data != spec.data:
        raise InputError(f"{spec.name} was left out: {path} does not hold the stays of the kept runs.")


def summarise(experiment: Experiment, spec: CohortSpec, cohorts: Path, out: Path) -> None:
    """Keep a cohort's numbers, from which its histograms can be drawn again, and what can be attained on it."""
    from dx2px.cohort import Cohort, describe
    from dx2px.cohort.splits import split_cohort
    from dx2px.lab.attainable import attainable
    from dx2px.lab.synthetic import Truth
    from dx2px.storage import write_text

    cohort = Cohort.load(spec.at(cohorts))
    found = {"summary": asdict(describe(cohort, top=0))}
    if spec.preset:
        links = Truth.load(spec.at(cohorts)).links
        best = attainable(cohort, links, split_cohort(cohort, by=experiment.config.split_by).test)
        found["attainable"] = best.to_dict()
    write_text(cohorts_file(out), json.dumps(kept_cohorts(out) | {spec.name: found}, indent=1) + "\n")


def cohorts_file(out: Path) -> Path:
    """Where the numbers of all cohorts are kept."""
    return out / "cohorts" / "cohorts.json"


def kept_cohorts(out: Path) -> dict[str, Any]:
    """For each cohort by name: its summary, and for a synthetic one the best that any method could do."""
    file = cohorts_file(out)
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found


def plans(experiment: Experiment, out: Path, cohorts: Path = Path()) -> dict[str, list[Job]]:
    """All jobs, by part: the groups of cohorts, then the sweeps."""
    parts = {
        group: experiment.trial_jobs(group, cohorts, out) + experiment.jobs(group, cohorts, out)
        for group in experiment.groups
    }
    planned = (one for sweeps in experiment.sweep_jobs(cohorts, out).values() for one in sweeps)
    swept = {job.place: job for one in planned for jobs in one.values() for job in jobs}  # some share a run
    return parts | {"sweeps": list(swept.values())}


def write_tables(experiment: Experiment, out: Path) -> None:
    """The files of every group and sweep, and the histograms."""
    from dx2px.lab.benchmark.files import write_benchmark, write_sweeps
    from dx2px.report.histograms import save_histogram_row

    for group in experiment.groups:
        write_benchmark(experiment.jobs(group, Path(), out), out / group, experiment.against)
        if kept := summaries(experiment, group, out):
            save_histogram_row(kept, out / "cohorts" / f"{group}.png")
    for over, planned in experiment.sweep_jobs(Path(), out).items():
        write_sweeps(over, planned, out / "sweeps")


def summaries(experiment: Experiment, group: str, out: Path) -> dict[str, Summary]:
    """The kept numbers of a group's cohorts."""
    from dx2px.cohort import KindSummary, Summary

    found = {}
    kept = kept_cohorts(out)
    for spec in experiment.cohorts:
        if spec.group == group and spec.name in kept:
            record = kept[spec.name]["summary"]
            kinds = {kind: KindSummary(**record[kind]) for kind in ("diagnoses", "procedures")}
            found[spec.name] = Summary(**(record | kinds))
    return found


def write_documents(experiment: Experiment, out: Path) -> None:
    """Regenerate the parts of the documents between markers."""
    from dx2px.lab.blocks import with_blocks
    from dx2px.storage import write_text

    made = blocks(experiment, out)
    for name in DOCUMENTS:
        path = ROOT / name
        old = path.read_text(encoding="utf-8")
        new = with_blocks(old, made)
        if new != old:
            write_text(path, new)


def blocks(experiment: Experiment, out: Path) -> dict[str, str]:
    """Every generated part of the documents, by name."""
    from dx2px.lab.benchmark import rows_of, rules_of
    from dx2px.lab.benchmark.costs import costs_markdown, plan_markdown
    from dx2px.lab.benchmark.markdown import summary_markdown
    from dx2px.lab.benchmark.rules_table import rules_markdown
    from dx2px.lab.benchmark.tuned import tuned_markdown
    from dx2px.lab.confirmation import confirmation_blocks

    made = confirmation_blocks(out / "confirm") | {
        "plan": plan_markdown(budget(experiment, out)),
        "folds": folds_markdown(experiment, out),
    }
    for group in experiment.groups:
        jobs = experiment.jobs(group, Path(), out)
        rows = rows_of(jobs)
        made |= {
            f"cohorts {group}": cohorts_markdown(summaries(experiment, group, out)),
            f"summary {group}": summary_markdown(rows) if rows else "",
            f"tuned {group}": tuned_markdown(experiment.tuned_rows(group, Path(), out), rows),
            f"rules {group}": rules_markdown(rules) if (rules := rules_of(jobs)) else "",
            f"costs {group}": costs_markdown(rows) if rows else "",
        }
        if any(spec.preset for spec in experiment.cohorts if spec.group == group):
            best = attainables(experiment, group, out)
            made[f"attainable {group}"] = attainable_markdown(best, rows) if best else ""
        if shown := [row for row in rows if row.cohort == HEADLINE_COHORT]:
            made["headline"] = headline_markdown(shown)
    return {name: text or NOTHING for name, text in (made | sweep_blocks(experiment, out)).items()}


def headline_markdown(rows: Sequence[Row]) -> str:
    """F1 of a few methods on one cohort; the best of all its methods is bold."""
    from dx2px.lab.benchmark.markdown import best_of
    from dx2px.lab.tables import table

    best = best_of(rows)
    lines = []
    for row in rows:
        if row.method in HEADLINE:
            means = {column: f"{row.cells[column].mean:.1f}" for column in (("1", "f1"), ("5", "f1"))}
            cells = [f"**{text}**" if row.method in best[column] else text for column, text in means.items()]
            lines.append([f"`{row.method}`", HEADLINE[row.method], *cells])
    return table(["method", "what it is", "F1@1, %", "F1@5, %"], lines, right=2)


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
    """A table for each setting that is swept."""
    from dx2px.lab.benchmark.files import rows_of_sweeps
    from dx2px.lab.benchmark.sweep_figure import sweep_markdown

    made = {}
    for over, planned in experiment.sweep_jobs(Path(), out).items():
        sweeps = rows_of_sweeps(planned)
        made[f"sweep {over}"] = sweep_markdown(over, sweeps) if sweeps else ""
    figures = [f"![F1 against {over}](../results/sweeps/{over}.png)" for over in planned_with_runs(made)]
    return made | {"figures sweeps": "\n".join(figures)}


def planned_with_runs(made: Mapping[str, str]) -> list[str]:
    """The settings whose sweeps have a table."""
    return [name.removeprefix("sweep ") for name, text in made.items() if text]


def cohorts_markdown(kept: Mapping[str, Summary]) -> str:
    """What the cohorts hold."""
    from dx2px.lab.tables import table

    def cells(kind: KindSummary) -> tuple[str, str]:
        return f"{kind.codes:,}", f"{kind.mean:.2f}"

    head = ("cohort", "stays", "diagnosis codes", "per stay", "procedure codes", "per stay")
    rows = (
        [name, f"{one.stays:,}", *cells(one.diagnoses), *cells(one.procedures)] for name, one in kept.items()
    )
    return table(head, rows)


def attainables(experiment: Experiment, group: str, out: Path) -> dict[str, dict[str, float]]:
    """F1 of the best possible ranking on each synthetic cohort of a group, by L, where it is kept."""
    kept = kept_cohorts(out)
    return {
        spec.name: {L: one["f1"] for L, one in kept[spec.name]["attainable"]["top"].items()}
        for spec in experiment.cohorts
        if spec.group == group and "attainable" in kept.get(spec.name, {})
    }


def attainable_markdown(best: Mapping[str, Mapping[str, float]], rows: Sequence[Row]) -> str:
    """What can be attained, then the share of it that each method reaches, per cent."""
    from dx2px.lab.tables import table

    columns = [(cohort, L) for L in ("1", "5") for cohort in best]
    found = {(row.cohort, row.method): row for row in rows}

    def share(cohort: str, L: str, method: str) -> str:
        row = found.get((cohort, method))
        return "–" if row is None else f"{100 * row.cells[L, 'f1'].mean / best[cohort][L]:.1f}"

    lines = [["attainable F1", *(f"{best[cohort][L]:.1f}" for cohort, L in columns)]]
    lines += [
        [f"{method}, % of attainable", *(share(*column, method) for column in columns)]
        for method in dict.fromkeys(row.method for row in rows)
    ]
    return table(["", *(f"{cohort}, F1@{L}" for cohort, L in columns)], lines)


def folds_markdown(experiment: Experiment, out: Path) -> str:
    """How many folds each row has, by cohort, so that nobody mistakes a part for the whole."""
    from collections import Counter

    from dx2px.lab.tables import table

    kept = Counter(
        (job.name, job.row)
        for group in experiment.groups
        for job in experiment.jobs(group, Path(), out)
        if job.result()
    )
    lines = []
    for spec in experiment.cohorts:
        folds = {row: kept[spec.name, row] for row in experiment.rows}
        [(most, _)] = Counter(folds.values()).most_common(1)
        others = [
            f"{n}: {', '.join(row.replace(', ', ' ') for row in folds if folds[row] == n)}"
            for n in sorted(set(folds.values()) - {most})
        ]
        lines.append([spec.name, most, "; ".join(others)])
    return table(["cohort", "folds of most rows", "folds of the others"], lines)


if __name__ == "__main__":
    try:
        typer.run(results)
    except Dx2pxError as error:
        remark(f"Error: {error}")
        raise SystemExit(1) from None
