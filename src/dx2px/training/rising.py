"""Rising curves fitted by maximum likelihood: how the log odds of being coded grow with a score.

Axes: n points, k knots.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize  # type: ignore[import-untyped]

from dx2px.scoring.calibration import sigmoid
from dx2px.scoring.curve import Curve
from dx2px.scoring.points import Points
from dx2px.scoring.segments import Doubles

_PIECES, _POSITIVES_A_PIECE = 10, 30
_LEAST_RISE = 1e-3  # of each piece, in log odds: a curve that does not rise would tie procedures
_RIDGE = 1e-3


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
    """With equally many coded pairs between them, and two more among the many pairs that are not coded."""
    coded = np.cumsum(points.coded) / points.coded.sum()
    pieces = int(np.clip(points.coded.sum() // _POSITIVES_A_PIECE, 1, _PIECES))
    inner = np.interp(np.arange(1, pieces) / pieces, coded, points.x)
    low = np.interp([0.02, 0.25], np.cumsum(points.pairs) / points.pairs.sum(), points.x)
    high = np.interp(0.995, coded, points.x)
    knots = np.unique([*low, *inner, high])
    span = max(float(points.x[-1] - points.x[0]), 1e-9)
    apart = knots[np.append(True, np.diff(knots) > 1e-6 * span)]
    return apart if len(apart) > 1 else np.array([points.x[0], points.x[0] + span])
