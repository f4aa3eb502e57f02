"""The reliability plot: the share that was coded, by the probability that was given."""

from __future__ import annotations

import os

import numpy as np

from dx2px.report.figures import BLUE, ORANGE, new_figure, save_figure
from dx2px.scoring.reliability import Agreement, Reliability


def save_reliability(trust: Reliability, path: str | os.PathLike[str]) -> None:
    """Draw one point per bin of equally many pairs; both axes are logarithmic, because most probabilities are small."""
    figure, axes = new_figure(width=5.2, height=4.8)
    shown = [
        (trust.all, BLUE, "o", "all pairs"),
        (trust.top, ORANGE, "s", "first ten per stay"),
    ]
    for one, colour, mark, name in shown:
        axes.plot(*_points(one), mark, color=colour, label=f"{name}: {_numbers(one)}")
    low = min((float(axis.min()) for one, *_ in shown for axis in _points(one) if axis.size), default=1e-3)
    line = [low / 2, 1.0]
    axes.plot(line, line, color="0.6", linewidth=1, zorder=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("probability given (mean of the bin, 0 to 1)")
    axes.set_ylabel("share coded (0 to 1)")
    axes.set_title(f"{trust.stays:,} stays", loc="left")
    axes.legend(frameon=False, loc="lower right", fontsize=8)
    save_figure(figure, path)


def _points(one: Agreement) -> tuple[np.ndarray, np.ndarray]:
    """Bins in which something was coded: a logarithmic axis cannot show 0."""
    some = one.observed > 0
    return one.predicted[some], one.observed[some]


def _numbers(one: Agreement) -> str:
    slope = "" if one.slope is None else f", slope {one.slope:.2f}"
    return f"error {one.ece:.4f}{slope}"
