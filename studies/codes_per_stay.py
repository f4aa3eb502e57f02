"""Are codes per stay exponential? The fit of a histogram, and how far two histograms are apart.

Shared by the studies; not run by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import betainc, gammaln

Floats = NDArray[np.float64]
SHOWN = 7  # numbers of codes whose ratios are shown


@dataclass(frozen=True)
class Exponential:
    """Codes per stay, n = 1, 2, …, as a geometric distribution, which is the exponential one of whole numbers.

    Beside it, a wider family: n − 1 as a negative binomial of shape r. r = 1 is the geometric; above 1 there is a hump,
    below 1 a heavier tail.
    """

    stays: int
    ratio: float  # of each number to the one before, as the geometric has it
    misplaced: float  # share of the stays that the geometric puts elsewhere
    shape: float
    statistic: float  # twice the gain in log likelihood; χ² of one degree of freedom if r is 1
    ratios: tuple[float, ...]  # as observed: of n + 1 to n, up to SHOWN


def exponential(histogram: Sequence[int], most: int | None = None) -> Exponential:
    """Fit both to a histogram (its place n has the stays with n codes); `most` or more counts as one cell."""
    counts = np.asarray(histogram[1:], float)  # n − 1 = 0, 1, …
    top = len(counts) if most is None else most
    cells = np.append(counts[: top - 1], counts[top - 1 :].sum())
    open_end = most is not None
    best = minimize_scalar(
        lambda log_r: -_fit(cells, math.exp(log_r), open_end)[0], bounds=(-4, 6), method="bounded"
    )
    geometric, q = _fit(cells, 1.0, open_end)
    expected = cells.sum() * _cells(1.0, q, len(cells), open_end)
    misplaced = 0.5 * np.abs(cells - expected).sum() / cells.sum()
    inside = cells[: top - open_end]
    ratios = tuple(after / before for before, after in pairwise(inside[:SHOWN]) if before)
    return Exponential(
        int(cells.sum()), q, float(misplaced), math.exp(best.x), 2 * (-best.fun - geometric), ratios
    )


def _fit(cells: Floats, r: float, open_end: bool) -> tuple[float, float]:
    """The log likelihood of the best q for this shape, and that q."""
    found = minimize_scalar(
        lambda q: -float(cells @ np.log(np.maximum(_cells(r, q, len(cells), open_end), 1e-300))),
        bounds=(1e-6, 1 - 1e-6),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return -float(found.fun), float(found.x)


def _cells(r: float, q: float, cells: int, open_end: bool) -> Floats:
    """The probability of n − 1 = 0, 1, …; with an open end, the last cell is that and all above."""
    n = np.arange(cells)
    p = np.exp(gammaln(n + r) - gammaln(r) - gammaln(n + 1) + r * math.log(1 - q) + n * math.log(q))
    if open_end:
        p[-1] = betainc(cells - 1, r, q) if cells > 1 else 1.0
    return p


def distance(first: Sequence[int], second: Sequence[int]) -> float:
    """The share of stays that would have to move to make the two histograms alike."""
    longest = max(len(first), len(second))
    shares = [np.pad(np.asarray(h, float), (0, longest - len(h))) / sum(h) for h in (first, second)]
    return float(0.5 * np.abs(shares[0] - shares[1]).sum())
