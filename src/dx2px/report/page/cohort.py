"""The cohort in a report: codes per stay, most frequent codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dx2px.codes import Notation
from dx2px.cohort import KindSummary
from dx2px.report.markup import Markup, el
from dx2px.report.page.charts import Bar, histogram
from dx2px.report.page.content import Content
from dx2px.report.page.words import code, figure, percent, section, table
from dx2px.scoring.subgroups import SMALLEST


def cohort_section(content: Content) -> Markup:
    """The paper's Figure 2, and which codes are common."""
    summary = content.summary
    settings = ", ".join(
        _setting(name, value) for name, value in summary.settings.items() if value is not None
    )
    kind = "synthetic patients" if content.synthetic else "patients"
    people = "" if summary.patients is None else f" of {summary.patients:,} {kind}"
    return section(
        "cohort",
        "Cohort",
        el(
            "p",
            f"All {summary.stays:,} stays{people} in {content.cohort_name} (source {summary.source or 'unknown'}"
            f"{f'; {settings}' if settings else ''}), not only the measured ones. Bars of fewer than {SMALLEST} stays "
            "are merged with their neighbours.",
        ),
        el(
            "div",
            _codes_per_stay("diagnoses", summary.diagnoses, 0),
            _codes_per_stay("procedures", summary.procedures, 1),
            class_="figures",
        ),
        el(
            "details",
            el("summary", "Most frequent codes"),
            _frequent("diagnosis", summary.diagnoses, content.names),
            _frequent("procedure", summary.procedures, content.names),
        ),
    )


def _setting(name: str, value: Any) -> str:
    if isinstance(value, dict):
        value = ", ".join(f"{read}={meant}" for read, meant in value.items())
    shown = f"{value:.3g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else value
    return f"{name.replace('_', ' ')} {shown}"


def pooled(histogram: Sequence[int], least: int = SMALLEST) -> list[tuple[int, int, int]]:
    """Bars (from, to, stays) of at least `least` stays each; small ones are merged from the high end downwards."""
    bars: list[tuple[int, int, int]] = []
    high, stays = len(histogram) - 1, 0
    for n in range(len(histogram) - 1, -1, -1):
        stays += histogram[n]
        if stays >= least:
            bars.append((n, high, stays))
            high, stays = n - 1, 0
    if stays and bars:
        _, high, more = bars.pop()
        bars.append((next(n for n, count in enumerate(histogram) if count), high, more + stays))
    return bars[::-1]


def _codes_per_stay(name: str, kind: KindSummary, series: int) -> Markup:
    bars = [
        Bar(_span(low, high, kind), stays, f"{_span(low, high, kind)} {name}: {stays:,} stays")
        for low, high, stays in pooled(kind.histogram)
    ]
    chart = histogram(bars, f"{name} per stay", "number of stays", series)
    return figure(f"{name.capitalize()} per stay: mean {kind.mean:.1f}, median {kind.median:g}", chart)


def _span(low: int, high: int, kind: KindSummary) -> str:
    if low == high:
        return str(low)
    return f"{low}+" if high == len(kind.histogram) - 1 else f"{low}–{high}"


def _frequent(name: str, kind: KindSummary, names: Notation) -> Markup:
    rows = [
        [code(one.code, names), f"{one.stays:,}", percent(one.share)]
        for one in kind.frequent
        if one.stays >= SMALLEST
    ]
    return table([name, "stays", "share of stays"], rows, numbers=(1, 2))
