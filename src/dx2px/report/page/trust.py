"""The calibration of a report: do probabilities mean what they say?"""

from __future__ import annotations

import numpy as np

from dx2px.evaluation.reliability import TOP, Agreement, Reliability
from dx2px.evaluation.subgroups import SMALLEST
from dx2px.report.markup import Markup, el
from dx2px.report.page.charts import Line, log_scatter
from dx2px.report.page.content import Content
from dx2px.report.page.words import figure, percent, section, table


def trust_section(content: Content) -> Markup:
    """The reliability plot and its numbers."""
    trust = content.trust
    if trust is None:
        note = "This model was made before probabilities were calibrated, so it only ranks: train it anew to have them."
        return section("calibration", "Calibration", el("p", note))
    return section(
        "calibration",
        "Calibration",
        el(
            "p",
            "Pairs of stay and procedure, in bins of equally many pairs by the probability that the model gave. On the "
            "line, the share coded is the probability given. It holds for stays like these, coded as these were.",
        ),
        el("div", _plot(trust), el("div", _numbers(trust), _sets(trust)), class_="figures"),
    )


def _plot(trust: Reliability) -> Markup:
    pairs = ((trust.all, "all pairs"), (trust.top, f"{TOP} most probable of each stay"))
    lines = [Line(name, *_points(one)) for one, name in pairs]
    note = (
        f"Bins with fewer than {SMALLEST} coded, or uncoded, pairs are not drawn. Both axes are logarithmic."
    )
    return figure(
        "Share coded beside the probability given",
        log_scatter(lines, "probability given", "share coded"),
        note,
    )


def _points(one: Agreement) -> tuple[list[float], list[float]]:
    coded = np.round(one.observed * one.pairs)
    told = (coded >= SMALLEST) & (one.pairs - coded >= SMALLEST)
    return one.predicted[told].tolist(), one.observed[told].tolist()


def _numbers(trust: Reliability) -> Markup:
    rows = [
        [name, f"{one.ece:.4f}", "–" if one.slope is None else f"{one.slope:.2f}"]
        for name, one in (("all pairs", trust.all), (f"{TOP} most probable of each stay", trust.top))
    ]
    note = (
        "Expected error: mean distance between the two axes. Slope: 1 is right, below 1 they are too extreme."
    )
    return el(
        "div",
        table(["pairs", "expected error", "slope"], rows, numbers=(1, 2)),
        el("p", note, class_="muted"),
    )


def _sets(trust: Reliability) -> Markup:
    rows = [[percent(one.target, 0), percent(one.recall), f"{one.set_size:.1f}"] for one in trust.coverage]
    note = "Sets (recommend --coverage) that should hold this share of a stay's procedures, on average over stays."
    return el(
        "div",
        table(["asked", "held", "procedures in a set"], rows, numbers=(1, 2)),
        el("p", note, class_="muted"),
    )
