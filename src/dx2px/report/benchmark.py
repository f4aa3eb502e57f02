"""The benchmark's tables as Markdown, LaTeX and HTML, in the layout of the paper's Table 1, and its plot."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence

from dx2px.evaluation.benchmark import Comparison, Row
from dx2px.report.figures import new_figure, save_figure

AT = ("1", "3", "5", "10")
NAMES = {"recall": "R", "precision": "P", "f1": "F1"}
COLUMNS = [(L, name) for L in AT for name in NAMES]
Published = Mapping[str, Sequence[float]]  # method → the paper's twelve numbers, in the order of COLUMNS


def markdown(rows: Sequence[Row], published: Published | None = None) -> str:
    """A table for each cohort; the best mean of a column is bold. The paper's numbers follow each method's own."""
    head = [f"{NAMES[name]}@{L}" for L, name in COLUMNS]
    parts = []
    for cohort, group in _by_cohort(rows).items():
        stays, diagnoses, procedures = group[0].sizes
        parts += [f"### {cohort}: {stays:,} stays, {diagnoses:,} diagnoses, {procedures:,} procedures", ""]
        parts += [f"| method | folds | {' | '.join(head)} | s a fit |", "|---" * (len(head) + 3) + "|"]
        best = _best(group)
        for row in group:
            cells = [f"**{row.cells[c]}**" if row.method in best[c] else str(row.cells[c]) for c in COLUMNS]
            parts.append(f"| {row.method} | {row.folds} | {' | '.join(cells)} | {row.seconds:.0f} |")
            if published and row.method in published:
                paper = [f"{value:.1f}" for value in published[row.method]]
                parts.append(f"| *{row.method}, as published* | | {' | '.join(paper)} | |")
        parts.append("")
    return "\n".join(parts)


def latex(rows: Sequence[Row], published: Published | None = None) -> str:
    """The same as a LaTeX tabular."""
    lines = [r"\begin{tabular}{l" + "|rrr" * len(AT) + "}", r"\hline"]
    lines.append("Method & " + " & ".join(rf"\multicolumn{{3}}{{c}}{{Top-{L} (\%)}}" for L in AT) + r" \\")
    lines.append(" & " + " & ".join(NAMES[name] for _, name in COLUMNS) + r" \\ \hline")
    for cohort, group in _by_cohort(rows).items():
        title = f"{cohort}: {group[0].sizes[0]:,} stays".replace("_", r"\_")
        lines.append(rf"\multicolumn{{13}}{{l}}{{{title}}} \\")
        best = _best(group)
        for row in group:
            values = [f"{row.cells[c].mean:.1f}" for c in COLUMNS]
            cells = [
                rf"\textbf{{{v}}}" if row.method in best[c] else v
                for c, v in zip(COLUMNS, values, strict=True)
            ]
            lines.append(f"{row.method} & {' & '.join(cells)} " + r"\\")
            if published and row.method in published:
                paper = " & ".join(f"{value:.1f}" for value in published[row.method])
                lines.append(rf"\quad published & {paper} \\")
        lines.append(r"\hline")
    return "\n".join([*lines, r"\end{tabular}", ""])


def page(rows: Sequence[Row], comparisons: Sequence[Comparison], published: Published | None = None) -> str:
    """A self-contained HTML page: the tables and the paired comparisons."""
    head = "".join(f"<th>{NAMES[name]}@{L}</th>" for L, name in COLUMNS)
    body = []
    for cohort, group in _by_cohort(rows).items():
        sizes = " · ".join(f"{size:,}" for size in group[0].sizes)
        body.append(f"<h2>{html.escape(cohort)}: {sizes} stays · diagnoses · procedures</h2>")
        body.append(f"<table><tr><th>method</th><th>folds</th>{head}<th>s a fit</th></tr>")
        best = _best(group)
        for row in group:
            cells = "".join(
                f"<td{' class=best' if row.method in best[c] else ''}>{row.cells[c]}</td>" for c in COLUMNS
            )
            body.append(
                f"<tr><td>{row.method}</td><td>{row.folds}</td>{cells}<td>{row.seconds:.0f}</td></tr>"
            )
            if published and row.method in published:
                paper = "".join(f"<td>{value:.1f}</td>" for value in published[row.method])
                body.append(f"<tr class=paper><td>published</td><td></td>{paper}<td></td></tr>")
        body.append("</table>")
    if comparisons:
        body.append("<h2>Paired differences in F1, points, 90 % intervals over test stays</h2><table>")
        body.append(
            "<tr><th>cohort</th><th>method</th><th>other</th><th>top</th><th>difference</th><th>better</th></tr>"
        )
        body += [_comparison_row(one) for one in comparisons]
        body.append("</table>")
    return _PAGE.replace("BODY", "\n".join(body))


def comparisons_markdown(comparisons: Sequence[Comparison]) -> str:
    """The paired differences as a table."""
    lines = [
        "| cohort | method | other | top | difference in F1 | 90 % interval | better |",
        "|---" * 7 + "|",
    ]
    for c in comparisons:
        interval = f"{c.low:+.2f} … {c.high:+.2f}"
        cells = (c.cohort, c.method, c.other, c.top, f"{c.difference:+.2f}", interval, c.verdict)
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def save_plot(rows: Sequence[Row], path: str | os.PathLike[str]) -> None:
    """F1@5 of every method on every cohort, with intervals."""
    groups = _by_cohort(rows)
    methods = list(dict.fromkeys(row.method for row in rows))
    figure, axes = new_figure(width=7.0, height=1.2 + 0.28 * len(methods) * len(groups))
    labels: list[str] = []
    for cohort, group in groups.items():
        for row in group:
            cell = row.cells["5", "f1"]
            axes.errorbar(
                cell.mean, len(labels), xerr=cell.half_width or 0, fmt="o", color="#0072B2", capsize=2
            )
            labels.append(f"{cohort}  {row.method}")
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.set_xlabel("F1@5, per cent (mean over folds, 90 % interval)")
    axes.grid(axis="x", color="0.9")
    save_figure(figure, path)


def _by_cohort(rows: Sequence[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.cohort, []).append(row)
    return groups


def _best(group: Sequence[Row]) -> dict[tuple[str, str], set[str]]:
    """The methods whose printed mean is the highest of a column."""
    best = {}
    for column in COLUMNS:
        shown = {row.method: round(row.cells[column].mean, 1) for row in group}
        best[column] = {method for method, value in shown.items() if value == max(shown.values())}
    return best


def _comparison_row(one: Comparison) -> str:
    difference = f"{one.difference:+.2f} ({one.low:+.2f} … {one.high:+.2f})"
    cells = (html.escape(one.cohort), one.method, one.other, one.top, difference, one.verdict)
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


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
