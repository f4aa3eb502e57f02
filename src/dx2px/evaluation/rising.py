"""Rising curves fitted by maximum likelihood: how the log odds of being coded grow with a score.

Axes: n points, k knots.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize  # type: ignore[import-untyped]

from dx2px.model.calibration import Curve, Doubles, sigmoid

_PIECES, _POSITIVES_A_PIECE = 10, 30
_POINTS = 4000
_LEAST_RISE = 1e-3  # of each piece, in log odds: a curve that does not rise would tie procedures
_RIDGE = 1e-3


@dataclass(frozen=True, eq=False)
class Points:
    """Pairs of like value put together: how many, and how many of them were coded."""

    x: Doubles  # (n,) rising
    pairs: Doubles  # (n,)
    coded: Doubles  # (n,)

    @classmethod
    def of(cls, values: Doubles, coded: NDArray[np.bool_], order: NDArray[np.int64] | None = None) -> Points:
        """Some thousand points, finer where the coded pairs are; equal values are never parted."""
        order = np.argsort(values, axis=None) if order is None else order
        x, hits = values.reshape(-1)[order], coded.reshape(-1)[order]
        place = np.cumsum(hits) / hits.sum() + np.arange(1, len(x) + 1) / len(x)  # from 0 to 2
        cuts = np.searchsorted(place, np.linspace(0, 2, _POINTS + 1)[1:-1])
        starts = np.unique(np.searchsorted(x, x[np.append(0, cuts)], side="left"))
        pairs = np.diff(np.append(starts, len(x))).astype(np.float64)
        return cls(
            np.add.reduceat(x, starts) / pairs, pairs, np.add.reduceat(hits.astype(np.float64), starts)
        )

    def with_doubt(self) -> Points:
        """Half a coded pair and half another at either end: no fit becomes certain, however cleanly scores divide."""
        ends = np.array([0, -1])
        return Points(
            np.append(self.x, self.x[ends]), np.append(self.pairs, [1, 1]), np.append(self.coded, [0.5, 0.5])
        )


def rising_curve(points: Points) -> Curve:
    """The likeliest rising linear spline of the log odds of being coded."""
    x = _knots(points)
    points = points.with_doubt()
    widths = np.diff(x)
    # Piece j rises by B_j of its own height; the outer pieces go on beyond the knots while fitting.
    B = np.clip((points.x[:, None] - x[:-1]) / widths, 0, 1)  # (n, k − 1)
    B[:, 0] += np.minimum((points.x - x[0]) / widths[0], 0)
    B[:, -1] += np.maximum((points.x - x[-1]) / widths[-1], 0)
    B = np.append(B, np.ones((len(B), 1)), axis=1)  # (n, k)
    rate = points.coded.sum() / points.pairs.sum()
    start = np.append(np.full(len(widths), 0.5), np.log(rate / (1 - rate)) - 1)

    def loss(rises: Doubles) -> tuple[float, Doubles]:
        eta = B @ rises
        value = points.pairs @ np.logaddexp(0, eta) - points.coded @ eta + _RIDGE * rises[:-1] @ rises[:-1]
        slope = B.T @ (points.pairs * sigmoid(eta) - points.coded)
        slope[:-1] += 2 * _RIDGE * rises[:-1]
        return value / points.coded.sum(), slope / points.coded.sum()

    bounds = [(_LEAST_RISE, None)] * len(widths) + [(None, None)]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 1000})
    return Curve(x, np.cumsum(np.append(found.x[-1], found.x[:-1])))


def _knots(points: Points) -> Doubles:
    """Between as many coded pairs each, with two more among the many pairs that are not coded."""
    coded = np.cumsum(points.coded) / points.coded.sum()
    pieces = int(np.clip(points.coded.sum() // _POSITIVES_A_PIECE, 1, _PIECES))
    inner = np.interp(np.arange(1, pieces) / pieces, coded, points.x)
    low = np.interp([0.02, 0.25], np.cumsum(points.pairs) / points.pairs.sum(), points.x)
    high = np.interp(0.995, coded, points.x)
    knots = np.unique([*low, *inner, high])
    span = max(float(points.x[-1] - points.x[0]), 1e-9)
    apart = knots[np.append(True, np.diff(knots) > 1e-6 * span)]
    return apart if len(apart) > 1 else np.array([points.x[0], points.x[0] + span])
