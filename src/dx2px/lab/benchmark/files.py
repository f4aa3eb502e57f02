"""The tables and figures that a benchmark or a sweep leaves in its folder, all made from the kept runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dx2px.lab.benchmark import Job, Row, compare, rows_of
from dx2px.lab.benchmark.comparison_tables import comparisons_markdown
from dx2px.lab.benchmark.markdown import Published, latex, markdown, save_plot
from dx2px.lab.benchmark.page import page
from dx2px.lab.benchmark.sweep_figure import save_sweep, sweep_markdown
from dx2px.storage import write_text

Planned = Mapping[float, Sequence[Job]]  # a sweep on one cohort: the jobs of each value


def write_benchmark(
    jobs: Sequence[Job], out: Path, against: str, published: Published | None = None
) -> list[Row]:
    """Tables, comparisons with `against`, a plot; returns the rows of the table, none where no run is kept."""
    rows = rows_of(jobs)
    if not rows:
        return []
    comparisons = compare(jobs, against)
    write_text(out / "results.md", markdown(rows, published))
    write_text(out / "results.tex", latex(rows, published))
    write_text(out / "results.html", page(rows, comparisons, published))
    write_text(out / "comparisons.md", comparisons_markdown(comparisons))
    save_plot(rows, out / "results.png")
    return rows


def write_sweeps(setting: str, planned: Sequence[Planned], out: Path) -> list[dict[float, Row]]:
    """Table and figure of the sweeps over a setting, one per cohort; returns those that have kept runs."""
    sweeps = rows_of_sweeps(planned)
    if sweeps:
        write_text(out / f"{setting}.md", sweep_markdown(setting, sweeps))
        save_sweep(setting, sweeps, out / f"{setting}.png")
    return sweeps


def rows_of_sweeps(planned: Sequence[Planned]) -> list[dict[float, Row]]:
    """Of each sweep that has kept runs, the row of each value."""
    sweeps = ({value: found[0] for value, jobs in one.items() if (found := rows_of(jobs))} for one in planned)
    return [rows for rows in sweeps if rows]
