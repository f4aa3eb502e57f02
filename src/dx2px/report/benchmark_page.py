"""The benchmark as a self-contained HTML page: its tables, who is ahead of whom, the paired differences."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from dx2px.evaluation.benchmark import Comparison, Row, verdicts
from dx2px.report.benchmark import COLUMNS, CPU, NAMES, Published, best_of, by_cohort, seconds
from dx2px.report.comparisons import DIFFERENCES, VERDICTS, difference_cells, verdict_cells


def page(rows: Sequence[Row], comparisons: Sequence[Comparison], published: Published | None = None) -> str:
    """A self-contained HTML page: the tables and the paired comparisons."""
    head = "".join(f"<th>{NAMES[name]}@{L}</th>" for L, name in COLUMNS)
    body = []
    for cohort, group in by_cohort(rows).items():
        sizes = " · ".join(f"{size:,}" for size in group[0].sizes)
        body.append(f"<h2>{html.escape(cohort)}: {sizes} stays · diagnoses · procedures</h2>")
        body.append(f"<table><tr><th>method</th><th>folds</th>{head}<th>{CPU}</th></tr>")
        best = best_of(group)
        for row in group:
            cells = "".join(
                f"<td{' class=best' if row.method in best[c] else ''}>{row.cells[c]}</td>" for c in COLUMNS
            )
            body.append(
                f"<tr><td>{row.method}</td><td>{row.folds}</td>{cells}<td>{seconds(row.cpu_seconds)}</td></tr>"
            )
            if published and (row.cohort, row.method) in published:
                paper = "".join(f"<td>{value:.1f}</td>" for value in published[row.cohort, row.method])
                body.append(f"<tr class=paper><td>published</td><td></td>{paper}<td></td></tr>")
        body.append("</table>")
    if comparisons:
        body += _comparisons(comparisons)
    return _PAGE.replace("BODY", "\n".join(body))


def _comparisons(comparisons: Sequence[Comparison]) -> list[str]:
    return [
        "<h2>Ahead, over the cells of the table</h2>",
        _table(VERDICTS, map(verdict_cells, verdicts(comparisons))),
        "<h2>Paired differences, points, 90 % intervals over test stays</h2>",
        _table(DIFFERENCES, difference_cells(comparisons)),
    ]


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    def line(tag: str, cells: Sequence[object]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    return "\n".join(["<table>", line("th", head), *(line("td", row) for row in rows), "</table>"])


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>dx2px benchmark</title>
<style>
:root { color-scheme: light dark; }
body { font: 14px/1.4 system-ui, sans-serif; margin: 2rem; }
table { border-collapse: collapse; }
td, th { padding: .2rem .5rem; border-bottom: 1px solid #8884; text-align: right; white-space: nowrap; }
td:first-child, th:first-child { text-align: left; }
.best { font-weight: 700; }
.paper { font-style: italic; opacity: .7; }
</style>
<h1>dx2px benchmark</h1>
<p>Means over folds in per cent, ± half of a 90 % interval; the best of a column is bold. These numbers measure how well
coded procedures are predicted from coded diagnoses; they say nothing of care.</p>
BODY
</html>
"""
