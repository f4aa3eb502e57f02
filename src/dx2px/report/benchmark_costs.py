"""What a benchmark costs: time and memory a fold of every method and cohort, and the time of the whole plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dx2px.evaluation.benchmark import Durations, Job, Row
from dx2px.report.benchmark import seconds


def costs_markdown(rows: Sequence[Row]) -> str:
    """A row a method, two columns a cohort: CPU seconds a fold (median of the runs that measured it), peak memory."""
    cohorts = list(dict.fromkeys(row.cohort for row in rows))
    known = {(row.cohort, row.method): row for row in rows}
    head = [f"{cohort}, {unit}" for cohort in cohorts for unit in ("CPU s", "MB")]
    lines = [f"| method | {' | '.join(head)} |", "|---" * (1 + len(head)) + "|"]
    for method in dict.fromkeys(row.method for row in rows):
        cells = [cell for cohort in cohorts for cell in _cells(known.get((cohort, method)))]
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cells(row: Row | None) -> tuple[str, str]:
    return ("–", "–") if row is None else (seconds(row.cpu_seconds), f"{row.peak_mb:,}")


def plan_markdown(plans: Mapping[str, Sequence[Job]]) -> str:
    """Of each plan, and of all: runs, those kept, and what all of them come to by the medians that were measured."""
    head = "| part | runs | kept | CPU hours of all | runs without a measured duration |"
    rows = {name: _plan_row(jobs) for name, jobs in plans.items()}
    n, k, h, u = (sum(column) for column in zip(*rows.values(), strict=True))
    rows["all"] = (int(n), int(k), h, int(u))
    lines = [head, "|---" * 5 + "|"]
    lines += [f"| {name} | {n} | {k} | {h:.1f} | {u or '–'} |" for name, (n, k, h, u) in rows.items()]
    return "\n".join(lines) + "\n"


def _plan_row(jobs: Sequence[Job]) -> tuple[int, int, float, int]:
    """Runs, those kept, CPU hours of all, runs without a measured duration."""
    durations = Durations.of(jobs, "cpu_seconds")
    measured = [durations.measured(job) for job in jobs]
    known = [value for value in measured if value is not None]
    kept = sum(job.result() is not None for job in jobs)
    return len(jobs), kept, sum(known) / 3600, len(measured) - len(known)
