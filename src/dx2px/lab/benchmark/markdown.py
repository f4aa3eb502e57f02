"""The benchmark's table as Markdown and LaTeX, in the layout of the paper's Table 1, and its plot."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from dx2px.lab.benchmark import Row
from dx2px.lab.benchmark.tables import AT
from dx2px.lab.tables import table
from dx2px.report.figures import new_figure, save_figure
from dx2px.words import counted

NAMES = {"recall": "R", "precision": "P", "f1": "F1"}
COLUMNS = [(L, name) for L in AT for name in NAMES]
CPU = "CPU seconds per fold"  # median over the runs that measured it
# (cohort, method) → the paper's twelve numbers, in the order of COLUMNS
Published = Mapping[tuple[str, str], Sequence[float]]


def markdown(rows: Sequence[Row], published: Published | None = None) -> str:
    """A table for each cohort; the best mean of a column is bold. The paper's numbers follow each method's own."""
    head = ["method", "folds", *(f"{NAMES[name]}@{L}" for L, name in COLUMNS), CPU]
    parts = []
    for cohort, group in by_cohort(rows).items():
        stays, diagnoses, procedures = group[0].sizes
        parts += [f"### {cohort}: {stays:,} stays, {diagnoses:,} diagnoses, {procedures:,} procedures", ""]
        parts.append(table(head, _lines(group, published or {})))
    return "\n".join(parts)


def _lines(group: Sequence[Row], published: Published) -> Iterator[list[object]]:
    """The rows of one cohort's table."""
    best = best_of(group)
    for row in group:
        cells = [f"**{row.cells[c]}**" if row.method in best[c] else row.cells[c] for c in COLUMNS]
        yield [row.method, row.folds, *cells, seconds(row.cpu_seconds)]
        if paper := published.get((row.cohort, row.method)):
            yield [f"*{row.method}, as published*", None, *(f"{value:.1f}" for value in paper), None]


def summary_markdown(rows: Sequence[Row]) -> str:
    """F1@1 and F1@5 of every method, one column per cohort, the best bold; says which have fewer folds than most."""
    groups = by_cohort(rows)
    methods = list(dict.fromkeys(row.method for row in rows))
    planned = max((row.folds for row in rows), default=0)
    columns = [(cohort, (L, "f1")) for L in ("1", "5") for cohort in groups]
    found = {(row.cohort, row.method): row for row in rows}
    best = {cohort: best_of(group) for cohort, group in groups.items()}

    def cell(cohort: str, column: tuple[str, str], method: str) -> str:
        row = found.get((cohort, method))
        if row is None:
            return "–"
        mark = "**" if method in best[cohort][column] else ""
        few = f" ({counted(row.folds, 'fold')})" if row.folds < planned else ""
        return f"{mark}{row.cells[column].mean:.1f}{mark}{few}"

    head = ["method", *(f"{cohort}, F1@{L}" for cohort, (L, _) in columns)]
    return table(head, ([method, *(cell(*one, method) for one in columns)] for method in methods))


def latex(rows: Sequence[Row], published: Published | None = None) -> str:
    """The same as a LaTeX tabular."""
    lines = [r"\begin{tabular}{l" + "|rrr" * len(AT) + "}", r"\hline"]
    lines.append("Method & " + " & ".join(rf"\multicolumn{{3}}{{c}}{{Top-{L} (\%)}}" for L in AT) + r" \\")
    lines.append(" & " + " & ".join(NAMES[name] for _, name in COLUMNS) + r" \\ \hline")
    for cohort, group in by_cohort(rows).items():
        title = f"{cohort}: {group[0].sizes[0]:,} stays".replace("_", r"\_")
        lines.append(rf"\multicolumn{{13}}{{l}}{{{title}}} \\")
        best = best_of(group)
        for row in group:
            values = [f"{row.cells[c].mean:.1f}" for c in COLUMNS]
            cells = [
                rf"\textbf{{{v}}}" if row.method in best[c] else v
                for c, v in zip(COLUMNS, values, strict=True)
            ]
            lines.append(f"{row.method} & {' & '.join(cells)} " + r"\\")
            if published and (row.cohort, row.method) in published:
                paper = " & ".join(f"{value:.1f}" for value in published[row.cohort, row.method])
                lines.append(rf"\quad published & {paper} \\")
        lines.append(r"\hline")
    return "\n".join([*lines, r"\end{tabular}", ""])


def save_plot(rows: Sequence[Row], path: str | os.PathLike[str]) -> None:
    """F1@5 of every method on every cohort, with intervals."""
    groups = by_cohort(rows)
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


def seconds(value: float | None) -> str:
    """A duration with about two digits; a dash where no run measured it."""
    if value is None:
        return "–"
    return f"{value:.2f}" if value < 1 else f"{value:,.1f}" if value < 10 else f"{value:,.0f}"


def by_cohort(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of each cohort."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.cohort, []).append(row)
    return groups


def best_of(group: Sequence[Row]) -> dict[tuple[str, str], set[str]]:
    """The methods whose printed mean is the highest of a column."""
    best = {}
    for column in COLUMNS:
        shown = {row.method: round(row.cells[column].mean, 1) for row in group}
        best[column] = {method for method, value in shown.items() if value == max(shown.values())}
    return best
