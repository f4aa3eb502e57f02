"""The files that a benchmark or a sweep leaves in its folder, all made from the kept runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dx2px.evaluation.benchmark import Job, compare, rows_of, runs_table
from dx2px.report.benchmark import Published, latex, markdown, save_plot
from dx2px.report.benchmark_page import page
from dx2px.report.comparisons import comparisons_markdown
from dx2px.report.sweep import save_sweep, sweep_markdown
from dx2px.storage import atomic_path, write_text


def write_benchmark(
    jobs: Sequence[Job], out: Path, against: str, published: Published | None = None
) -> str | None:
    """Tables, comparisons with `against`, a plot; gives back the Markdown table, or None where no run is kept."""
    import pyarrow.parquet as pq

    rows = rows_of(jobs)
    if not rows:
        return None
    comparisons = compare(jobs, against)
    table = markdown(rows, published)
    write_text(out / "results.md", table)
    write_text(out / "results.tex", latex(rows, published))
    write_text(out / "results.html", page(rows, comparisons, published))
    write_text(out / "comparisons.md", comparisons_markdown(comparisons))
    with atomic_path(out / "runs.parquet") as draft:
        pq.write_table(runs_table(jobs), draft)
    save_plot(rows, out / "results.png")
    return table


def write_sweep(setting: str, planned: Mapping[float, Sequence[Job]], out: Path) -> str | None:
    """Table and figure of a sweep; gives back the table, or None where no run is kept."""
    rows = {value: found[0] for value, jobs in planned.items() if (found := rows_of(jobs))}
    if not rows:
        return None
    table = sweep_markdown(setting, rows)
    write_text(out / f"{setting}.md", table)
    save_sweep(setting, rows, out / f"{setting}.png")
    return table
