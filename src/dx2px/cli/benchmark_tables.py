"""How benchmarks and sweeps are printed: a table per cohort, the best mean of a column in bold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dx2px.cli.tables import Strong, print_table
from dx2px.words import counted

if TYPE_CHECKING:
    from dx2px.lab.benchmark import Row
    from dx2px.lab.benchmark.markdown import Published


def show_benchmark(rows: Sequence[Row], published: Published) -> None:
    """Means over the folds with 90 % intervals, in per cent; a line with the published numbers, where there are any."""
    from dx2px.lab.benchmark.markdown import COLUMNS, NAMES, best_of, by_cohort, seconds

    head = ["method", "folds", *(f"{NAMES[name]}@{L}" for L, name in COLUMNS), "CPU s per fold"]
    for cohort, group in by_cohort(rows).items():
        best, lines = best_of(group), []
        for row in group:
            cells = [(Strong if row.method in best[one] else str)(row.cells[one]) for one in COLUMNS]
            lines.append([row.method, row.folds, *cells, seconds(row.cpu_seconds)])
            if paper := published.get((cohort, row.method)):
                lines.append([f"  {row.method}, published", None, *(f"{value:.1f}" for value in paper), None])
        print_table(f"{cohort}: {_sizes(group[0])}", head, lines)


def show_sweep(setting: str, rows: Mapping[float, Row]) -> None:
    """F1 in per cent for each value of a setting."""
    from dx2px.lab.benchmark.tables import AT

    lines = [[f"{value:g}", row.folds, *(str(row.cells[L, "f1"]) for L in AT)] for value, row in rows.items()]
    print_table(
        f"F1 in per cent by {setting}", [setting, "folds", *(f"F1@{L}" for L in AT)], lines, codes=(0,)
    )


def _sizes(row: Row) -> str:
    stays, diagnoses, procedures = row.sizes
    codes = f"{counted(diagnoses, 'diagnosis', 'diagnoses')}, {counted(procedures, 'procedure')}"
    return f"{counted(stays, 'stay')}, {codes}; per cent, with 90 % intervals over the folds"
