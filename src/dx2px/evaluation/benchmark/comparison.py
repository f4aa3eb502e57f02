"""Is one method better than another on the same test stays? The interval of the paired difference says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.evaluation.benchmark.plan import Job

AT = (1, 3, 5, 10)
RESAMPLES = 2000


@dataclass(frozen=True)
class Comparison:
    """Mean difference in F1@L, in points (`method` minus `other`), with a 90 % bootstrap interval over stays."""

    cohort: str
    method: str
    other: str
    top: int
    difference: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Which method is better, if the interval says so."""
        if self.low > 0:
            return self.method
        return self.other if self.high < 0 else "undecided"


def compare(jobs: Sequence[Job], method: str, seed: int = 0) -> list[Comparison]:
    """One method against each other on every cohort; per-stay F1 is the mean over the folds that both have."""
    found = []
    for cohort in dict.fromkeys(job.name for job in jobs):
        folds = {name: _folds(jobs, cohort, name) for name in dict.fromkeys(job.method for job in jobs)}
        mine = folds.pop(method, {})
        for other, theirs in folds.items():
            shared = sorted(mine.keys() & theirs.keys())
            if shared:
                difference = np.mean([mine[fold] - theirs[fold] for fold in shared], axis=0)  # (stays, at)
                found += _intervals(cohort, method, other, difference, seed)
    return found


def _folds(jobs: Sequence[Job], cohort: str, method: str) -> dict[int, NDArray[np.float64]]:
    """Per-stay F1 of each fold that has results."""
    chosen = [job for job in jobs if (job.name, job.method) == (cohort, method)]
    return {job.split.fold: _f1(job) for job in chosen if job.result() is not None and job.details.exists()}


def _f1(job: Job) -> NDArray[np.float64]:
    with np.load(job.details) as counts:
        hits, recommended, recorded = (counts[n].astype(float) for n in ("hits", "recommended", "recorded"))
    f1: NDArray[np.float64] = 200 * hits / (recommended + recorded[:, None])  # (stays, at)
    return f1


def _intervals(
    cohort: str, method: str, other: str, difference: NDArray[np.float64], seed: int
) -> list[Comparison]:
    rng = np.random.default_rng(seed)
    stays = len(difference)
    # Resampling stays with replacement is drawing how often each is taken.
    means = np.empty((RESAMPLES, len(AT)))
    for resample in range(RESAMPLES):
        means[resample] = np.bincount(rng.integers(0, stays, stays), minlength=stays) @ difference / stays
    low, high = np.quantile(means, [0.05, 0.95], axis=0)
    middle = difference.mean(axis=0)
    return [
        Comparison(cohort, method, other, top, float(middle[i]), float(low[i]), float(high[i]))
        for i, top in enumerate(AT)
    ]
