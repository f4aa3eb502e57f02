"""The benchmark as a self-contained HTML page: its tables, which method is ahead, the paired differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dx2px.lab.benchmark import Comparison, Row, verdicts
from dx2px.lab.benchmark.comparison_tables import (
    AHEAD,
    DIFFERENCES,
    PAIRED,
    VERDICTS,
    difference_cells,
    verdict_cells,
)
from dx2px.lab.benchmark.markdown import COLUMNS, CPU, NAMES, Published, best_of, by_cohort, seconds
from dx2px.report.markup import Markup, document, el

TITLE = "dx2px benchmark"
NOTE = (
    "Means over folds in per cent, ± half of a 90 % interval; the best of a column is bold. These numbers measure how "
    "well coded procedures are predicted from coded diagnoses; they say nothing about care."
)
STYLE = """
:root { color-scheme: light dark; }
body { font: 14px/1.4 system-ui, sans-serif; margin: 2rem; }
table { border-collapse: collapse; }
td, th { padding: .2rem .5rem; border-bottom: 1px solid #8884; text-align: right; white-space: nowrap; }
td:first-child, th:first-child { text-align: left; }
.best { font-weight: 700; }
.paper { font-style: italic; opacity: .7; }
"""


def page(rows: Sequence[Row], comparisons: Sequence[Comparison], published: Published | None = None) -> str:
    """The tables and the paired comparisons."""
    parts = [el("h1", TITLE), el("p", NOTE)]
    for cohort, group in by_cohort(rows).items():
        stays, diagnoses, procedures = group[0].sizes
        sizes = f"{stays:,} stays, {diagnoses:,} diagnoses, {procedures:,} procedures"
        parts += [el("h2", f"{cohort}: {sizes}"), _results(group, published or {})]
    if comparisons:
        parts += _comparisons(comparisons)
    return document(TITLE, parts, [STYLE], [])


def _results(group: Sequence[Row], published: Published) -> Markup:
    """The table of one cohort."""
    head = ["method", "folds", *(f"{NAMES[name]}@{L}" for L, name in COLUMNS), CPU]
    return el("table", el("tr", (el("th", text) for text in head)), _lines(group, published))


def _lines(group: Sequence[Row], published: Published) -> Iterator[Markup]:
    best = best_of(group)
    for row in group:
        cells = (
            el("td", str(row.cells[c]), class_="best" if row.method in best[c] else None) for c in COLUMNS
        )
        yield el("tr", _cells([row.method, row.folds]), cells, _cells([seconds(row.cpu_seconds)]))
        if paper := published.get((row.cohort, row.method)):
            yield el(
                "tr", _cells(["published", "", *(f"{value:.1f}" for value in paper), ""]), class_="paper"
            )


def _comparisons(comparisons: Sequence[Comparison]) -> list[Markup]:
    return [
        el("h2", AHEAD),
        _plain(VERDICTS, map(verdict_cells, verdicts(comparisons))),
        el("h2", PAIRED),
        _plain(DIFFERENCES, difference_cells(comparisons)),
    ]


def _plain(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Markup:
    return el("table", el("tr", (el("th", text) for text in head)), (el("tr", _cells(row)) for row in rows))


def _cells(values: Iterable[object]) -> list[Markup]:
    return [el("td", str(value)) for value in values]
