"""The calibration in a report: do the probabilities mean what they say?"""

from __future__ import annotations

import numpy as np

from dx2px.report.markup import Markup, el
from dx2px.report.page.charts import Line, log_scatter
from dx2px.report.page.content import Content
from dx2px.report.page.words import code, figure, percent, section, table
from dx2px.scoring.per_procedure import LEAST, NOTICED, PerProcedure
from dx2px.scoring.reliability import TOP, Agreement, Reliability
from dx2px.scoring.subgroups import SMALLEST

FURTHEST = 10  # procedures listed by name


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
        *_procedures(trust.procedures, content),
    )


def _plot(trust: Reliability) -> Markup:
    pairs = ((trust.all, "all pairs"), (trust.top, f"first {TOP} per stay"))
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
        for name, one in (("all pairs", trust.all), (f"first {TOP} per stay", trust.top))
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


def _procedures(found: PerProcedure, content: Content) -> list[Markup]:
    """Procedure by procedure: the summary, and the ones whose probabilities are furthest off."""
    losses = f"Log loss per stay {found.log_loss:.3f}, Brier score per stay {found.brier:.3f}."
    if not found.gaps:
        return [el("p", losses)]
    assert found.mean_gap is not None
    assert found.by_chance is not None
    summary = (
        f"{losses} Procedure by procedure, among probabilities of {percent(NOTICED, 0)} and more, predicted and "
        f"observed differ by {100 * found.mean_gap:.1f} points on average over {len(found.gaps)} procedures with at "
        f"least {LEAST} such stays; {100 * found.by_chance:.1f} points would be chance."
    )
    codes = content.model.files.procedures
    rows = [
        [
            code(codes[one.procedure], content.names),
            f"{one.stays:,}",
            percent(one.predicted),
            percent(one.observed),
        ]
        for one in found.gaps[:FURTHEST]
        if one.stays >= SMALLEST
    ]
    head = ["procedure", "stays", "mean probability", "share coded"]
    return [
        el("h3", "Procedures whose probabilities are furthest off"),
        el("p", summary),
        table(head, rows, numbers=(1, 2, 3)),
    ]
