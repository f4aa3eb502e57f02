"""The paper's figure of one stay: significance of the diagnoses as bars, transport to the procedures as a heat map."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dx2px.codes import dotted
from dx2px.inference import Explanation
from dx2px.report.figures import BLUE, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST_TITLE = 60
MAP = "viridis"  # readable without colour vision
ROW, COLUMN = 0.28, 0.55  # inches for a diagnosis and for a procedure
FOOTNOTE = "How stays were coded, as the model learned it: no medical advice."


def save_explanation(explanation: Explanation, path: str | os.PathLike[str]) -> None:
    """Diagnoses downwards, procedures across with their titles below; the figure grows with their numbers."""
    from matplotlib.figure import Figure

    diagnoses = [d for d in explanation.diagnoses if d.status != "unknown"]
    procedures = [p for p in explanation.procedures if p.status == "known"]
    upper, lower = 0.8 + ROW * len(diagnoses), 0.3 + 0.2 * len(procedures)
    wide = 1.0 + COLUMN * len(procedures)
    figure = Figure(figsize=(6.6 + wide, upper + lower), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=[1.8, wide], height_ratios=[upper, lower])
    bars, heat = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])
    _bars(bars, [_line(d.code, d.title) for d in diagnoses], [d.significance for d in diagnoses])
    image = heat.imshow(explanation.transport.plan, cmap=MAP, aspect="auto", vmin=0)
    heat.set_yticks([])
    heat.set_xticks(range(len(procedures)), [dotted(p.code) for p in procedures], rotation=45, ha="right")
    heat.set_title("transport T", loc="left", fontsize=10)
    figure.colorbar(image, ax=heat)
    legend = figure.add_subplot(grid[1, :])
    legend.axis("off")
    lines = [*(_line(p.code, p.title) for p in procedures), "", FOOTNOTE]
    legend.text(0, 1, "\n".join(lines), va="top", fontsize=9, color="0.2", transform=legend.transAxes)
    save_figure(figure, path)


def _bars(axes: Axes, labels: list[str], values: list[float]) -> None:
    axes.barh(range(len(labels)), values, color=BLUE)
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_title("significance μ", loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)


def _line(code: str, title: str) -> str:
    short = title if len(title) <= LONGEST_TITLE else title[: LONGEST_TITLE - 1] + "…"
    return f"{dotted(code)}  {short}"
