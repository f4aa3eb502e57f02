"""The paper's Figure 2: how many diagnoses and procedures stays have."""

from __future__ import annotations

import os
from collections.abc import Mapping

from dx2px.cohort import KindSummary, Summary
from dx2px.report.figures import BLUE, ORANGE, new_figure, new_row, save_figure


def save_histograms(summary: Summary, path: str | os.PathLike[str], title: str | None = None) -> None:
    """Draw both histograms over one axis and save them as PNG, SVG or PDF, by the file's ending."""
    figure, axes = new_figure(width=6.4, height=3.8)
    _draw(axes, summary, title or f"{summary.stays:,} stays")
    save_figure(figure, path)


def save_histogram_row(summaries: Mapping[str, Summary], path: str | os.PathLike[str]) -> None:
    """Several cohorts side by side, under their names."""
    figure, panels = new_row(len(summaries), width=4.4, height=3.4)
    for axes, (name, summary) in zip(panels, summaries.items(), strict=True):
        _draw(axes, summary, f"{name}: {summary.stays:,} stays")
    save_figure(figure, path)


def _draw(axes: object, summary: Summary, title: str) -> None:
    _bars(axes, summary.diagnoses, BLUE, "diagnoses", shift=-0.2)
    _bars(axes, summary.procedures, ORANGE, "procedures", shift=0.2)
    axes.set_xlabel("codes per stay")  # type: ignore[attr-defined]
    for axis in (axes.xaxis, axes.yaxis):  # type: ignore[attr-defined]
        axis.get_major_locator().set_params(integer=True)
    axes.set_ylabel("number of stays")  # type: ignore[attr-defined]
    axes.set_title(title, loc="left")  # type: ignore[attr-defined]
    axes.legend(frameon=False)  # type: ignore[attr-defined]


def _bars(axes: object, kind: KindSummary, colour: str, name: str, shift: float) -> None:
    label = f"{name} (mean {kind.mean:.1f}, at most {kind.most})"
    numbers = [n + shift for n in range(len(kind.histogram))]
    axes.bar(numbers, kind.histogram, width=0.4, color=colour, label=label)  # type: ignore[attr-defined]
