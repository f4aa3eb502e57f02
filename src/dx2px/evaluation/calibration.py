"""Fitting the stage that turns scores into probabilities, on stays that taught the method nothing.

The parts of `dx2px.model.calibration` are fitted one after the other by maximum likelihood over all pairs of a
validation stay and a procedure; scores are centred unless that costs likelihood. The curves are linear splines with
rising pieces: an isotonic (PAV) fit was tried, and its steps, flat within a bin, made low probabilities too high
(calibration slopes up to 1.12 on test stays, where the splines have 1.00).

Thresholds for sets come from conformal risk control (Angelopoulos et al. 2024) with the loss 1 − recall: on stays like
the validation ones, the expected recall of the set is at least the coverage asked for. Cut at a probability, sets were
smaller at the same recall than cut at a cumulative mass or at a rank.

Axes: i stays, p procedures, n points, k knots.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort import Ragged
from dx2px.errors import InputError
from dx2px.evaluation.metrics import BATCH, Scores
from dx2px.evaluation.rising import Points, rising_curve
from dx2px.model.calibration import (
    Calibration,
    Doubles,
    centre,
    combined,
    company,
    most_probable,
    sigmoid,
)

COVERAGES = np.round(np.arange(0.5, 0.9951, 0.005), 3)
MOST_PAIRS = 5_000_000  # of stay and procedure: more stays than this takes are thinned out evenly
_NEAR = (
    1.002  # of two stages that tell almost as well what was coded, the one of centred scores has smaller sets
)
_RIDGE = 1e-3
_NEWTON_STEPS = 50


def fit_calibration(scores: Scores, diagnoses: Ragged, procedures: Ragged) -> Calibration:
    """The stage of a method, from stays that it did not learn from."""
    s, coded = scored_pairs(scores, diagnoses, procedures)
    plain, centred = (_stage(s, coded, centred) for centred in (False, True))
    losses = [_loss(stage.probability(s), coded) for stage in (plain, centred)]
    best = centred if losses[1] <= _NEAR * losses[0] else plain
    thresholds = conformal_thresholds(best.probability(s), coded, COVERAGES)
    return Calibration(best.centred, best.first, best.weights, best.second, COVERAGES, thresholds)


def conformal_thresholds(probability: Doubles, coded: NDArray[np.bool_], coverages: Doubles) -> Doubles:
    """For each coverage the highest threshold whose corrected recall, (n·recall)/(n + 1), still reaches it.

    The correction counts one more stay, of which the set holds nothing. 0, the set of all procedures, where no
    threshold does: with too few stays nothing less can be promised.
    """
    stays = len(probability)
    weights = (coded / coded.sum(axis=1, keepdims=True))[coded]
    reached = probability[coded]
    # The most probable procedure is always in the set, so its place in the order is the first.
    reached = np.where(most_probable(probability)[coded], 1.0, reached)
    order = np.argsort(-reached, kind="stable")
    recall = np.cumsum(weights[order]) / (stays + 1)
    place = np.searchsorted(recall, coverages - 1e-12)
    return np.append(reached[order], 0.0)[place]


def scored_pairs(scores: Scores, diagnoses: Ragged, procedures: Ragged) -> tuple[Doubles, NDArray[np.bool_]]:
    """The score of each stay and procedure, and whether it was coded; of evenly spread stays where they are many."""
    if not len(diagnoses):
        raise InputError("There are no stays to calibrate, or to measure a calibration, on.")
    size = scores(diagnoses.take([0])).shape[1]
    stays = min(len(diagnoses), max(1, MOST_PAIRS // size))
    rows = np.linspace(0, len(diagnoses) - 1, stays).astype(np.int64)
    s = np.concatenate([scores(block) for block in diagnoses.take(rows).blocks(BATCH)]).astype(np.float64)
    if not np.isfinite(s).all():
        raise InputError("The method gave scores that are not finite numbers, so they cannot be calibrated.")
    some = procedures.take(rows)
    coded = np.zeros(s.shape, np.bool_)
    coded[some.row_of_entry, some.values] = True
    return s, coded  # (i, p) (i, p)


def _stage(s: Doubles, coded: NDArray[np.bool_], centred: bool) -> Calibration:
    """All but the thresholds."""
    x = centre(s, centred)
    first = rising_curve(Points.of(x, coded))
    f = first(x)
    stay = company(f)
    weights = _weights(f, stay, coded)
    second = rising_curve(Points.of(combined(f, stay, weights), coded))
    return Calibration(centred, first, weights, second, np.empty(0), np.empty(0))


def _loss(p: Doubles, coded: NDArray[np.bool_]) -> float:
    """Minus the log likelihood."""
    return -float(np.log(np.where(coded, p, 1 - p)).sum())


def _weights(f: Doubles, stay: Doubles, coded: NDArray[np.bool_]) -> Doubles:
    """w of η by Newton's method, held lightly to (1, 0, 0, 0), which leaves f as it is."""
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
