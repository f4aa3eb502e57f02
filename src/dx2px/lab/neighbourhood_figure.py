"""A figure of how often neighbouring codes share chapters and categories, for each method with vectors."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dx2px.report.figures import BLUE, ORANGE, save_figure
from dx2px.report.neighbourhoods import BEYOND, Sharing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Found = Mapping[str, Sequence[Sharing]]  # by method
MARKS = ((BLUE, "o"), (ORANGE, "s"), ("black", "D"))
KINDS = {"diagnosis": "diagnoses", "procedure": "procedures"}
LABELS = {"CCS": "CCS group", BEYOND: "chapter, category left out"}
PANEL, ROW = 2.5, 0.24  # inches: a panel's width, a method's height


def save_neighbourhoods(found: Found, path: str | os.PathLike[str]) -> None:
    """One row of panels per kind, one panel per label: the nearest 1, 5 and 10, and chance as a line."""
    from matplotlib.figure import Figure

    kinds = list(dict.fromkeys(one.kind for many in found.values() for one in many))
    labels = list(dict.fromkeys(one.label for many in found.values() for one in many))
    size = (1.2 + PANEL * len(labels), 0.8 + (0.7 + ROW * len(found)) * len(kinds))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(kinds), len(labels), sharey=True, sharex=True, squeeze=False)
    for kind, panels in zip(kinds, grid, strict=True):
        for label, axes in zip(labels, panels, strict=True):
            _panel(axes, found, kind, label)
    grid[0, 0].set_yticks(range(len(found)), list(found))
    grid[0, 0].invert_yaxis()
    figure.supxlabel("share of the nearest codes with the same label, %; the grey line is chance", fontsize=9)
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names), frameon=False, fontsize=9)
    save_figure(figure, path)


def _panel(axes: Axes, found: Found, kind: str, label: str) -> None:
    """One label of one kind; empty if no method has it."""
    rows = [(row, one) for row, many in enumerate(found.values()) for one in many]
    known = [(row, one) for row, one in rows if (one.kind, one.label) == (kind, label)]
    if not known:
        axes.axis("off")
        return
    axes.set_title(f"{KINDS.get(kind, kind)}: {LABELS.get(label, label)}", loc="left", fontsize=9)
    axes.axvline(100 * known[0][1].chance, color="0.75", linewidth=2, zorder=0)
    for place, (k, (colour, mark)) in enumerate(zip(known[0][1].at, MARKS, strict=False)):
        shares = [100 * one.share[place] for _, one in known]
        axes.plot(shares, [row for row, _ in known], mark, color=colour, label=f"{k} nearest", markersize=4.5)
    axes.set_xlim(0, 100)
    axes.grid(axis="x", color="0.92")
    axes.spines[["top", "right"]].set_visible(False)
