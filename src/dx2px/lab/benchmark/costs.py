"""What a benchmark costs: time and memory per fold for every method and cohort, and the time of the whole plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dx2px.lab.benchmark import Durations, Job, Row
from dx2px.lab.benchmark.markdown import seconds
from dx2px.lab.tables import table


def costs_markdown(rows: Sequence[Row]) -> str:
    """One row per method. For each cohort: CPU seconds per fold (the median of the runs that measured it), memory."""
    cohorts = list(dict.fromkeys(row.cohort for row in rows))
    known = {(row.cohort, row.method): row for row in rows}
    methods = dict.fromkeys(row.method for row in rows)
    head = [f"{cohort}, {unit}" for cohort in cohorts for unit in ("CPU seconds", "MB")]
    lines = ([m, *(cell for cohort in cohorts for cell in _cells(known.get((cohort, m))))] for m in methods)
    return table(["method", *head], lines)


def _cells(row: Row | None) -> tuple[str, str]:
    return ("–", "–") if row is None else (seconds(row.cpu_seconds), f"{row.peak_mb:,}")


def plan_markdown(plans: Mapping[str, Sequence[Job]]) -> str:
    """For each plan and for all: runs, kept runs, and CPU time of all of them by the measured medians."""
    rows = {name: _plan_row(jobs) for name, jobs in plans.items()}
    n, k, h, u = (sum(column) for column in zip(*rows.values(), strict=True))
    rows["all"] = (int(n), int(k), h, int(u))
    head = ("part", "runs", "kept", "CPU hours", "runs without a measured time")
    return table(head, [(name, n, k, f"{h:.1f}", u or "–") for name, (n, k, h, u) in rows.items()])


def _plan_row(jobs: Sequence[Job]) -> tuple[int, int, float, int]:
    """Runs, kept runs, CPU hours of all, runs without a measured time."""
    durations = Durations.of(jobs, "cpu_seconds")
    measured = [durations.measured(job) for job in jobs]
    known = [value for value in measured if value is not None]
    kept = sum(job.result() is not None for job in jobs)
    return len(jobs), kept, sum(known) / 3600, len(measured) - len(known)
