"""The paper's figure of robustness: F1 of the top 1, 3, 5, 10 against one setting."""

from __future__ import annotations

import os
from collections.abc import Mapping

from dx2px.lab.benchmark import Row
from dx2px.lab.benchmark.markdown import CPU, seconds
from dx2px.lab.benchmark.tables import AT
from dx2px.lab.tables import table
from dx2px.report.figures import new_figure, save_figure

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")  # can be told apart without colour vision
MARKS = ("o", "s", "^", "D")
SYMBOLS = {"dim": "dimension M", "alpha": "transport weight α", "heads": "heads K"}


def sweep_markdown(setting: str, rows: Mapping[float, Row]) -> str:
    """One row per value of the setting."""
    head = [setting, "folds", *(f"F1@{L}" for L in AT), CPU]
    return table(
        head,
        (
            [f"{value:g}", row.folds, *(row.cells[L, "f1"] for L in AT), seconds(row.cpu_seconds)]
            for value, row in rows.items()
        ),
    )


def save_sweep(setting: str, rows: Mapping[float, Row], path: str | os.PathLike[str]) -> None:
    """One line per length of the list, with 90 % intervals."""
    figure, axes = new_figure(width=5.0, height=3.8)
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
    axes.set_ylabel("F1, per cent")
    figure.legend(loc="outside upper center", ncols=len(AT), frameon=False, fontsize=9)
    save_figure(figure, path)
