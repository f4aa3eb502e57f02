"""Fitting a head to stays that no run has learned from: a shift of each procedure, and a part of a whole head.

An adapted model is asked about all its stays, each by a run that left it out. Their scores are those of new stays, so
they need no blurring, and there are enough of them to shift each procedure: z_p = η_p + a_p, with a ridge that holds
procedures with few stays to the pooled stage:

    a_p = argmin Σ_i cross-entropy(σ(η_ip + a_p)) + RIDGE/2 · a_p²

A whole head (`fit_head`) knows what a shift does not: where a procedure is the further off the more probable it is.
From few stays it goes too far. So a part of the way from the shifts to the head is taken. Each quarter of the stays, in
turn, says how much of a head that was fitted to the others is likeliest. Halves in turn took too little: a head that is
fitted to half of the stays deserves less than the one that is kept.

Axes: i stays, p procedures.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dx2px.ragged import Ragged
from dx2px.scoring.calibration import Calibration, sigmoid
from dx2px.scoring.folder import halved
from dx2px.scoring.head import LAYOUT, Head
from dx2px.scoring.points import MOST_PAIRS, evenly_spread
from dx2px.scoring.segments import Doubles, Floats
from dx2px.training.fit_calibration import conformal_thresholds, log_loss
from dx2px.training.fit_head import fit_head

RIDGE = 5.0  # per unit²
WAYS = tuple(eighths / 8 for eighths in range(9))  # parts of the way from the shifts to the head
PARTS = 4  # of the stays, which choose among them in turn
_ROUNDS, _MOST = 20, 1.0  # of Newton's method, and the largest move of each


def with_shifts(
    pooled: Calibration,
    learned: tuple[Floats, Ragged],
    validation: tuple[Doubles, NDArray[np.bool_]],
    *,
    half: bool = False,
) -> Calibration:
    """The stage with shifts and a part of a head, and its own thresholds.

    Args:
        pooled: The stage so far.
        learned: The pooled log odds of stays by runs that did not learn from them, (i, p), and their procedures.
        validation: The scores of such stays, (i, p), and what was coded, for the thresholds.
        half: Round the head's arrays to half precision, as the folder will.
    """
    arrays = _part(_ends(*learned), likeliest_way(*learned))
    head = Head.of(halved(arrays) if half else arrays)
    s, coded = validation
    p = sigmoid(head.log_odds(pooled.pooled(s)))
    return replace(pooled, head=head, thresholds=conformal_thresholds(p, coded, pooled.coverages))


def likeliest_way(eta: Floats, procedures: Ragged) -> float:
    """How much of the way to a head is likeliest for stays that it was not fitted to."""
    part, losses = parts(len(eta)), np.zeros(len(WAYS))
    for one in range(PARTS):
        fitted, others = np.flatnonzero(part != one), np.flatnonzero(part == one)
        ends = _ends(eta[fitted], procedures.take(fitted))
        others = others[evenly_spread(len(others), eta.shape[1], MOST_PAIRS)]
        coded = procedures.take(others).indicator(eta.shape[1])
        for place, way in enumerate(WAYS):
            z = Head.of(_part(ends, way)).log_odds(eta[others])
            losses[place] += log_loss(sigmoid(z), coded)
    return WAYS[int(losses.argmin())]


def parts(stays: int) -> NDArray[np.int64]:
    """The part of each stay; by neighbours, since every other stay is asked with its diagnoses alone."""
    return np.arange(stays) // 2 % PARTS


def shifts(eta: Doubles | Floats, coded: NDArray[np.bool_]) -> NDArray[np.float32]:
    """a of each procedure."""
    a = np.zeros(eta.shape[1])
    for _ in range(_ROUNDS):
        p = sigmoid(eta + a)
        slope = (p - coded).sum(axis=0) + RIDGE * a
        a -= np.clip(slope / ((p * (1 - p)).sum(axis=0) + RIDGE), -_MOST, _MOST)
    return a.astype(np.float32)


def _ends(eta: Floats, procedures: Ragged) -> tuple[dict[str, Floats], Floats]:
    """The arrays of the whole head, and the shifts; of evenly spread stays where they are too many."""
    some = evenly_spread(len(eta), eta.shape[1], MOST_PAIRS)
    return fit_head(eta, procedures), shifts(eta[some], procedures.take(some).indicator(eta.shape[1]))


def _part(ends: tuple[dict[str, Floats], Floats], way: float) -> dict[str, Floats]:
    """The arrays after a part of the way from the shifts to the head."""
    (k, a, q, W), shift = ends[0].values(), ends[1]
    part = np.float32(way)
    return dict(zip(LAYOUT, (1 + part * (k - 1), shift + part * (a - shift), part * q, W), strict=True))
