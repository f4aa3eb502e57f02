"""The curves of a training run: losses and validation F1@5 by epoch."""

from __future__ import annotations

import math
import os

import pyarrow as pa

from dx2px.report.figures import BLUE, ORANGE, new_figure, save_figure

LOSSES = {"loss_predictive": "predictive loss", "loss_transport": "transport loss"}
F1 = "validation_f1"


def save_curves(history: pa.Table, path: str | os.PathLike[str]) -> None:
    """Draw the losses per stay (left axis) and the validation F1@5 (right axis)."""
    figure, axes = new_figure(width=6.4, height=3.8)
    epochs, losses, f1 = epochs_of(history), loss_curves(history), curve(history, F1)
    for style, (name, values) in zip(("-", "--"), losses.items(), strict=False):
        axes.plot(epochs, values, color=BLUE, linestyle=style, label=name)
    axes.set_xlabel("epoch")
    axes.set_ylabel("loss per stay")
    lines = list(axes.get_lines())
    if f1 is not None:
        right = axes.twinx()
        right.plot(epochs, f1, color=ORANGE, label="validation F1@5")
        right.set_ylabel("F1@5 (per cent)")
        right.spines["top"].set_visible(False)
        lines += right.get_lines()
    if lines:
        axes.legend(lines, [str(line.get_label()) for line in lines], frameon=False, loc="center right")
    save_figure(figure, path)


def epochs_of(history: pa.Table) -> list[float]:
    """The numbers of the epochs."""
    return [float(epoch) for epoch in history.column("epoch").to_pylist()]


def loss_curves(history: pa.Table) -> dict[str, list[float]]:
    """The losses that a method has, by name; one that is zero throughout was not trained with."""
    found = {name: curve(history, column) for column, name in LOSSES.items()}
    return {name: values for name, values in found.items() if values and any(values)}


def curve(history: pa.Table, column: str) -> list[float] | None:
    """A column over the epochs; None if the method has no such column, or not a number in every epoch."""
    if not history.num_rows or not {"epoch", column} <= set(history.column_names):
        return None
    values = history.column(column).to_pylist()
    return values if all(value is not None and math.isfinite(value) for value in values) else None
