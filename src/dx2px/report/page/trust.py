"""The calibration in a report: do the probabilities mean what they say?"""

from __future__ import annotations

import numpy as np

from dx2px.report.markup import Markup, el
from dx2px.report.page.charts import Line, log_scatter
from dx2px.report.page.content import Content
from dx2px.report.page.words import figure, percent, section, table
from dx2px.scoring.reliability import TOP, Agreement, Reliability
from dx2px.scoring.subgroups import SMALLEST


def trust_section(content: Content) -> Markup:
    """The reliability plot and its numbers."""
    trust = content.trust
    if trust is None:
        note = "This model has no calibration, so it ranks procedures without probabilities: train it again."
        return section("calibration", "Calibration", el("p", note))
    return section(
        "calibration",
        "Calibration",
        el(
            "p",
            "Each point is a bin of pairs of stay and procedure with similar probabilities. On the line, the share "
            "that was coded equals the probability that the model gave. This holds for stays like these, coded as "
            "these were.",
        ),
        el("div", _plot(trust), el("div", _numbers(trust), _sets(trust)), class_="figures"),
    )


def _plot(trust: Reliability) -> Markup:
    pairs = ((trust.all, "all pairs"), (trust.top, f"{TOP} most probable per stay"))
    lines = [Line(name, *_points(one)) for one, name in pairs]
    note = f"Bins with fewer than {SMALLEST} coded or {SMALLEST} uncoded pairs are not drawn. The axes are logarithmic."
    return figure(
        "Share coded by probability given",
        log_scatter(lines, "probability given", "share coded"),
        note,
    )


def _points(one: Agreement) -> tuple[list[float], list[float]]:
    coded = np.round(one.observed * one.pairs)
    drawn = (coded >= SMALLEST) & (one.pairs - coded >= SMALLEST)
    return one.predicted[drawn].tolist(), one.observed[drawn].tolist()


def _numbers(trust: Reliability) -> Markup:
    rows = [
        [name, f"{one.ece:.4f}", "–" if one.slope is None else f"{one.slope:.2f}"]
        for name, one in (("all pairs", trust.all), (f"{TOP} most probable per stay", trust.top))
    ]
    note = (
        "Expected error: mean distance of the points from the line. Slope: 1 is right; below 1 the probabilities are "
        "too extreme."
    )
    return el(
        "div",
        table(["pairs", "expected error", "slope"], rows, numbers=(1, 2)),
        el("p", note, class_="muted"),
    )


def _sets(trust: Reliability) -> Markup:
    rows = [[percent(one.target, 0), percent(one.recall), f"{one.set_size:.1f}"] for one in trust.coverage]
    note = "Sets made to hold a share of a stay's procedures, on average over stays (recommend --coverage)."
    return el(
        "div",
        table(["share asked for", "share held", "procedures per set"], rows, numbers=(1, 2)),
        el("p", note, class_="muted"),
    )
