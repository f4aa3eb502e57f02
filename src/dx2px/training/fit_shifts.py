"""Fitting a head to few stays: a shift of each procedure's log odds, and nothing else.

A few hundred stays cannot say what the whole head says (`fit_head`), and the scores of stays that were learned from
say too little about new ones. So z_p = η_p + a_p, fitted on stays that were not learned from, with a ridge that
holds procedures with few stays to the pooled stage:

    a_p = argmin Σ_i cross-entropy(σ(η_ip + a_p)) + RIDGE/2 · a_p²

Axes: i stays, p procedures.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dx2px.scoring.calibration import Calibration, sigmoid
from dx2px.scoring.folder import halved
from dx2px.scoring.head import LAYOUT, Head
from dx2px.scoring.segments import Doubles
from dx2px.training.fit_calibration import conformal_thresholds

RIDGE = 10.0  # per unit²; a model that takes evidence counts each stay twice, with it and without
_ROUNDS, _MOST = 20, 1.0  # of Newton's method, and the largest move of each


def with_shifts(
    pooled: Calibration, validation: tuple[Doubles, NDArray[np.bool_]], *, half: bool = False
) -> Calibration:
    """The stage with a head of shifts, from the scores of stays that were not learned from and what was coded."""
    s, coded = validation
    eta = pooled.pooled(s)
    none = np.zeros((s.shape[1], 1), np.float32)
    arrays = dict(zip(LAYOUT, (np.ones(s.shape[1], np.float32), shifts(eta, coded), none, none), strict=True))
    head = Head.of(halved(arrays) if half else arrays)
    p = sigmoid(head.log_odds(eta))
    return replace(pooled, head=head, thresholds=conformal_thresholds(p, coded, pooled.coverages))


def shifts(eta: Doubles, coded: NDArray[np.bool_]) -> NDArray[np.float32]:
    """a of each procedure."""
    a = np.zeros(eta.shape[1])
    for _ in range(_ROUNDS):
        p = sigmoid(eta + a)
        slope = (p - coded).sum(axis=0) + RIDGE * a
        a -= np.clip(slope / ((p * (1 - p)).sum(axis=0) + RIDGE), -_MOST, _MOST)
    return a.astype(np.float32)
