"""Fitting the pooled stage that turns scores into probabilities, on stays that the method did not learn from.

The parts of `dx2px.scoring.calibration` are fitted one after the other by maximum likelihood over all pairs of a
validation stay and a procedure; scores are centred unless that costs likelihood. The curves are linear splines with
rising pieces. An isotonic (PAV) fit was tried: its steps, flat within a bin, made low probabilities too high
(calibration slopes up to 1.12 on test stays, where the splines have 1.00).

Thresholds for sets come from conformal risk control (Angelopoulos et al. 2024) with the loss 1 − recall: on stays like
the validation ones, the expected recall of the set is at least the coverage asked for. Cut at a probability, sets were
smaller at the same recall than cut at a cumulative mass or at a rank.

Axes: i stays, p procedures, n points, k knots.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.scoring.calibration import Calibration, centre, combined, context, most_probable, sigmoid
from dx2px.scoring.points import Points
from dx2px.scoring.segments import Doubles
from dx2px.training.rising import rising_curve

COVERAGES = np.round(np.arange(0.5, 0.9951, 0.005), 3)
# If two stages fit almost equally well, the one with centred scores has smaller sets, and a better head: dropout, which
# blurs the scores of training stays, also raises them all.
_NEAR = 1.01
_RIDGE = 1e-3
_NEWTON_STEPS = 50
_NEARLY = 1e-15  # the least likelihood of what happened


def fit_calibration(s: Doubles, coded: NDArray[np.bool_]) -> Calibration:
    """The stage of a method, fitted on the scores of stays that it did not learn from, (i, p), and what was coded."""
    plain, centred = (_stage(s, coded, centred) for centred in (False, True))
    p, of_centred = (stage.probability(s) for stage in (plain, centred))
    best = plain
    if log_loss(of_centred, coded) <= _NEAR * log_loss(p, coded):
        best, p = centred, of_centred
    return replace(best, coverages=COVERAGES, thresholds=conformal_thresholds(p, coded, COVERAGES))


def conformal_thresholds(probability: Doubles, coded: NDArray[np.bool_], coverages: Doubles) -> Doubles:
    """For each coverage, the highest threshold whose corrected recall, (n·recall)/(n + 1), still reaches it.

    The correction adds one stay with a recall of 0. The threshold is 0, which takes all procedures, if no other reaches
    the coverage: with too few stays nothing less can be promised.
    """
    stays = len(probability)
    weights = (coded / coded.sum(axis=1, keepdims=True))[coded]
    reached = probability[coded]
    # The most probable procedure is always in the set, whatever the threshold.
    reached = np.where(most_probable(probability)[coded], 1.0, reached)
    order = np.argsort(-reached, kind="stable")
    recall = np.cumsum(weights[order]) / (stays + 1)
    place = np.searchsorted(recall, coverages - 1e-12)
    return np.append(reached[order], 0.0)[place]


def _stage(s: Doubles, coded: NDArray[np.bool_], centred: bool) -> Calibration:
    """Everything but the thresholds."""
    x = centre(s, centred)
    first = rising_curve(Points.of(x, coded))
    f = first(x)
    stay = context(f)
    weights = _weights(f, stay, coded)
    second = rising_curve(Points.of(combined(f, stay, weights), coded))
    return Calibration(centred, first, weights, second, np.empty(0), np.empty(0))


def log_loss(p: Doubles, coded: NDArray[np.bool_]) -> float:
    """Minus the log likelihood; what rounding made certain counts as nearly so."""
    return -float(np.log(np.maximum(np.where(coded, p, 1 - p), _NEARLY)).sum())


def slope_and_shift(z: Doubles, coded: NDArray[np.bool_]) -> tuple[float, float]:
    """w and c of the likeliest σ(w z + c), with a weak ridge towards 1 and 0; similar pairs count together."""
    points = Points.of(z, coded)
    features = np.stack([points.x, np.ones(len(points.x))], axis=1)
    w, c = logistic(features, points.coded, np.array([1.0, 0.0]), points.pairs).tolist()
    return w, c


def logistic(features: Doubles, coded: NDArray[Any], start: Doubles, pairs: Doubles | float = 1.0) -> Doubles:
    """The likeliest weights of a few features by Newton's method, with a weak ridge towards `start`.

    `coded` says how many of the `pairs` with these features were coded. The first feature is log odds; if the fit would
    turn them round, or ends in no numbers, `start` is returned.
    """
    weights = start.copy()
    for _ in range(_NEWTON_STEPS):
        p = sigmoid(features @ weights)
        wrong, spread = pairs * p - coded, pairs * p * (1 - p)
        H = (features * spread[:, None]).T @ features + np.eye(len(start))
        step = np.linalg.solve(H, features.T @ wrong + weights - start)
        weights = weights - step
        if np.abs(step).max() < 1e-8:
            break
    return weights if np.isfinite(weights).all() and weights[0] > 0 else start


def _weights(f: Doubles, stay: Doubles, coded: NDArray[np.bool_]) -> Doubles:
    """w of e by Newton's method, with a weak ridge towards (1, 0, 0, 0), which leaves f unchanged."""
    start = np.array([1.0, 0.0, 0.0, 0.0])
    weights = start.copy()
    for _ in range(_NEWTON_STEPS):
        p = sigmoid(combined(f, stay, weights))
        wrong, spread = p - coded, p * (1 - p)
        gradient = np.append((wrong * f).sum(), wrong.sum(axis=1) @ stay)
        corner = (spread * f).sum(axis=1) @ stay
        H = np.empty((4, 4))
        H[0, 0], H[0, 1:], H[1:, 0] = (spread * f * f).sum(), corner, corner
        H[1:, 1:] = (stay * spread.sum(axis=1)[:, None]).T @ stay
        step = np.linalg.solve(H + _RIDGE * np.eye(4), gradient + _RIDGE * (weights - start))
        weights = weights - step
        if np.abs(step).max() < 1e-8:
            break
    return weights if np.isfinite(weights).all() and weights[0] > 0 else start
