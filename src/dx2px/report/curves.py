"""The curves of a training run: losses and validation F1 by epoch."""

from __future__ import annotations

import os

import pyarrow as pa

from dx2px.report.figures import BLUE, ORANGE, new_figure, save_figure


def save_curves(history: pa.Table, path: str | os.PathLike[str]) -> None:
    """Draw predictive and transport loss a stay (left axis) and validation F1@5 (right axis)."""
    figure, axes = new_figure(width=6.4, height=3.8)
    epochs = history.column("epoch").to_pylist()
    axes.plot(epochs, history.column("loss_predictive").to_pylist(), color=BLUE, label="predictive loss")
    transport = history.column("loss_transport").to_pylist()
    if any(transport):
        axes.plot(epochs, transport, color=BLUE, linestyle="--", label="transport loss")
    axes.set_xlabel("epoch")
    axes.set_ylabel("loss a stay")
    right = axes.twinx()
    right.plot(epochs, history.column("validation_f1").to_pylist(), color=ORANGE, label="validation F1@5")
    right.set_ylabel("F1@5, per cent")
    right.spines["top"].set_visible(False)
    lines = [*axes.get_lines(), *right.get_lines()]
    axes.legend(lines, [str(line.get_label()) for line in lines], frameon=False, loc="center right")
    save_figure(figure, path)
