"""Bootstrap intervals. Stays are resampled, not procedures, since the procedures of one stay are not independent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import InputError
from dx2px.scoring.segments import Doubles

RESAMPLES, LEVEL = 500, 0.95


@dataclass(frozen=True)
class Interval:
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, value: float, drawn: Doubles) -> Interval:
        known = drawn[np.isfinite(drawn)]
        if not np.isfinite(value) or not len(known):
            raise InputError("The sample has too few stays to measure anything: use more of them.")
        low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return cls(float(value), float(low), float(high))


@dataclass(frozen=True, eq=False)
class Resamples:
    """How often each stay occurs in each resample; one for a whole study, so that differences are paired."""

    times: NDArray[np.float64]  # (resamples, stays)

    @classmethod
    def draw(cls, stays: int, seed: int | Sequence[int], resamples: int = RESAMPLES) -> Resamples:
        """Stays drawn with replacement, as many as there are."""
        rng = np.random.default_rng(seed)
        drawn = [np.bincount(rng.integers(0, stays, stays), minlength=stays) for _ in range(resamples)]
        return cls(np.array(drawn, np.float64))

    def mean(self, values: Doubles, stay: NDArray[np.int64]) -> Interval:
        """The mean of numbers that belong to stays."""
        return self.ratio(values, np.ones_like(values), stay)

    def ratio(self, above: Doubles, below: Doubles, stay: NDArray[np.int64]) -> Interval:
        """Σ above / Σ below, of numbers that belong to stays."""
        stays = self.times.shape[1]
        A, B = (np.bincount(stay, weights=x, minlength=stays) for x in (above, below))
        with np.errstate(divide="ignore", invalid="ignore"):
            return Interval.of(above.sum() / below.sum(), (self.times @ A) / (self.times @ B))

    def areas(
        self, scores: Doubles, truth: NDArray[np.bool_], stay: NDArray[np.int64]
    ) -> tuple[Interval, Interval]:
        """The areas under the ROC and the precision-recall curve; the interval uses every fifth resample."""
        _, level = np.unique(-scores, return_inverse=True)
        found = np.array([_areas(level, truth, times[stay]) for times in self.times[::5]])  # (r, 2)
        roc, pr = _areas(level, truth, np.ones(len(scores)))
        return Interval.of(roc, found[:, 0]), Interval.of(pr, found[:, 1])


def _areas(level: NDArray[np.int64], truth: NDArray[np.bool_], weight: Doubles) -> tuple[float, float]:
    """ROC and PR area of weighted points; points of one level share a threshold, as in scikit-learn."""
    size = int(level.max()) + 1
    hits = np.cumsum(np.bincount(level, weights=weight * truth, minlength=size))
    misses = np.cumsum(np.bincount(level, weights=weight * ~truth, minlength=size))
    new = np.diff(hits, prepend=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.nan_to_num(hits / (hits + misses))
        roc = np.trapezoid(np.append(0.0, hits), np.append(0.0, misses)) / (hits[-1] * misses[-1])
        return float(roc), float((new * precision).sum() / hits[-1])
