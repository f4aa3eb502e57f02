"""The paper's Figure 2: histograms of stays by their numbers of diagnoses and of procedures."""

from __future__ import annotations

import os

from dx2px.cohort import KindSummary, Summary
from dx2px.report.figures import BLUE, ORANGE, new_figure, save_figure


def save_histograms(summary: Summary, path: str | os.PathLike[str], title: str | None = None) -> None:
    """Draw both histograms over one axis and save them as PNG, SVG or PDF, by the file's ending."""
    figure, axes = new_figure(width=6.4, height=3.8)
    _bars(axes, summary.diagnoses, BLUE, "diagnoses", shift=-0.2)
    _bars(axes, summary.procedures, ORANGE, "procedures", shift=0.2)
    axes.set_xlabel("codes in a stay")
    axes.set_ylabel("stays")
    axes.set_title(title or f"{summary.stays:,} stays", loc="left")
    axes.legend(frameon=False)
    save_figure(figure, path)


def _bars(axes: object, kind: KindSummary, colour: str, name: str, shift: float) -> None:
    label = f"{name} (mean {kind.mean:.1f}, most {kind.most})"
    numbers = [n + shift for n in range(len(kind.histogram))]
    axes.bar(numbers, kind.histogram, width=0.4, color=colour, label=label)  # type: ignore[attr-defined]
