"""The paper's figure of robustness: F1 of the top 1, 3, 5, 10 against one setting."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dx2px.lab.benchmark import Row
from dx2px.lab.benchmark.markdown import CPU, seconds
from dx2px.lab.benchmark.tables import AT
from dx2px.lab.tables import table
from dx2px.report.figures import new_row, save_figure
from dx2px.words import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Sweep = Mapping[float, Row]  # of one cohort: the row of each value

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")  # can be told apart without colour vision
MARKS = ("o", "s", "^", "D")
SYMBOLS = {"dim": "dimension M", "alpha": "transport weight α", "heads": "heads K"}


def sweep_markdown(setting: str, sweeps: Sequence[Sweep]) -> str:
    """One row per cohort and value of the setting."""
    head = ["cohort", setting, "folds", *(f"F1@{L}" for L in AT), CPU]
    return table(
        head,
        (
            [
                row.cohort,
                f"{value:g}",
                row.folds,
                *(row.cells[L, "f1"] for L in AT),
                seconds(row.cpu_seconds),
            ]
            for rows in sweeps
            for value, row in rows.items()
        ),
    )


def save_sweep(setting: str, sweeps: Sequence[Sweep], path: str | os.PathLike[str]) -> None:
    """A plot per cohort: one line per length of the list, with 90 % intervals where there are several folds."""
    figure, plots = new_row(len(sweeps), width=5.0, height=3.8)
    for axes, rows in zip(plots, sweeps, strict=True):
        _draw(axes, setting, rows)
    plots[0].set_ylabel("F1, per cent")
    figure.legend(
        *plots[0].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=len(AT),
        frameon=False,
        fontsize=9,
    )
    save_figure(figure, path)


def _draw(axes: Axes, setting: str, rows: Sweep) -> None:
    values = list(rows)
    for L, colour, mark in zip(AT, COLOURS, MARKS, strict=True):
        cells = [rows[value].cells[L, "f1"] for value in values]
        bars = [cell.half_width or 0.0 for cell in cells]
        axes.errorbar(
            values, [c.mean for c in cells], yerr=bars, color=colour, marker=mark, capsize=2, label=f"top {L}"
        )
    if setting == "alpha":
        axes.set_xscale("log")
    axes.set_xticks(values, [f"{value:g}" for value in values])
    axes.set_xlabel(SYMBOLS[setting])
    [row, *_] = rows.values()
    axes.set_title(f"{row.cohort}, {counted(row.folds, 'fold')}", fontsize=9)
