"""Scored pairs of a stay and a procedure, and whether they were coded: what a calibration is fitted and measured on.

Axes: i stays, p procedures, n points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import InputError
from dx2px.ragged import Ragged
from dx2px.scoring.metrics import BATCH, Scores
from dx2px.scoring.segments import Doubles

MOST_PAIRS = 5_000_000  # of stay and procedure; with more, evenly spread stays are used
_POINTS = 4000


def scored_pairs(scores: Scores, diagnoses: Ragged, procedures: Ragged) -> tuple[Doubles, NDArray[np.bool_]]:
    """The score of each stay and procedure, and whether it was coded; of evenly spread stays if there are too many."""
    if not len(diagnoses):
        raise InputError("There are no stays to fit or measure a calibration on.")
    size = scores(diagnoses.take([0])).shape[1]
    rows = evenly_spread(len(diagnoses), size, MOST_PAIRS)
    s = np.concatenate([scores(block) for block in diagnoses.take(rows).blocks(BATCH)]).astype(np.float64)
    if not np.isfinite(s).all():
        raise InputError("The method gave scores that are not finite numbers, so they cannot be calibrated.")
    return s, procedures.take(rows).indicator(size)  # (i, p) (i, p)


def evenly_spread(stays: int, procedures: int, most: int) -> NDArray[np.int64]:
    """All stays, or some of them if they would make more than so many pairs with the procedures."""
    return np.linspace(0, stays - 1, min(stays, max(1, most // procedures))).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Points:
    """Pairs of similar value, grouped: how many, and how many of them were coded."""

    x: Doubles  # (n,) rising
    pairs: Doubles  # (n,)
    coded: Doubles  # (n,)

    @classmethod
    def of(cls, values: Doubles, coded: NDArray[np.bool_]) -> Points:
        """A few thousand points, finer where the coded pairs are; equal values stay in one point."""
        # To sort twice is faster than to find the order, and to put the values into it.
        x = np.sort(values, axis=None)
        hits = np.bincount(np.searchsorted(x, np.sort(values[coded])), minlength=len(x))
        place = np.cumsum(hits) / hits.sum() + np.arange(1, len(x) + 1) / len(x)  # from 0 to 2
        cuts = np.searchsorted(place, np.linspace(0, 2, _POINTS + 1)[1:-1])
        starts = np.unique(np.searchsorted(x, x[np.append(0, cuts)], side="left"))
        pairs = np.diff(np.append(starts, len(x))).astype(np.float64)
        return cls(
            np.add.reduceat(x, starts) / pairs, pairs, np.add.reduceat(hits.astype(np.float64), starts)
        )

    def with_doubt(self) -> Points:
        """With half a coded and half an uncoded pair at either end, so that no fit becomes certain."""
        ends = np.array([0, -1])
        return Points(
            np.append(self.x, self.x[ends]), np.append(self.pairs, [1, 1]), np.append(self.coded, [0.5, 0.5])
        )
