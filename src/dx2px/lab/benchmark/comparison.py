"""Is one method better than another on the same test stays? The interval of the paired difference tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from dx2px.lab.benchmark.plan import Job
from dx2px.lab.benchmark.records import METRICS
from dx2px.scoring.metrics import AT, Metrics

CELLS = [(top, metric) for top in AT for metric in METRICS]  # those of the paper's Table 1
RESAMPLES = 2000
_PORTION = 100  # resamples drawn at once

Rates = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """Mean difference in a metric, in points (`method` minus `other`), with a 90 % bootstrap interval over stays."""

    cohort: str
    method: str
    other: str
    folds: int  # that both methods have
    top: int
    metric: str
    difference: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Which method is better, if the interval says so."""
        if self.low > 0:
            return self.method
        return self.other if self.high < 0 else "undecided"


@dataclass(frozen=True)
class Verdict:
    """A method against another on a cohort, over all cells of the table."""

    cohort: str
    method: str
    other: str
    folds: int
    cells: int
    ahead: int  # cells where the difference is positive
    above: int  # cells whose interval lies above zero
    below: int


def compare(jobs: Sequence[Job], method: str, seed: int = 0) -> list[Comparison]:
    """One method against each other on every cohort; a stay's value is the mean over the folds that both have."""
    found = []
    for cohort in dict.fromkeys(job.name for job in jobs):
        differences = dict(_differences([job for job in jobs if job.name == cohort], method))
        if differences:
            found += _intervals(cohort, method, differences, seed)
    return found


def verdicts(comparisons: Sequence[Comparison]) -> list[Verdict]:
    """In how many cells the method is ahead of each other one, and in how many beyond doubt."""
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for one in comparisons:
        groups.setdefault((one.cohort, one.other), []).append(one)
    return [
        Verdict(
            cohort=cohort,
            method=cells[0].method,
            other=other,
            folds=cells[0].folds,
            cells=len(cells),
            ahead=sum(cell.difference > 0 for cell in cells),
            above=sum(cell.low > 0 for cell in cells),
            below=sum(cell.high < 0 for cell in cells),
        )
        for (cohort, other), cells in groups.items()
    ]


def _differences(jobs: Sequence[Job], method: str) -> Iterator[tuple[str, tuple[int, Rates]]]:
    """Against each other method: the number of shared folds, and (stays, cells)."""
    folds = {name: _folds(jobs, name) for name in dict.fromkeys(job.row for job in jobs)}
    mine = folds.pop(method, {})
    for other, theirs in folds.items():
        shared = sorted(mine.keys() & theirs.keys())
        if shared:
            yield other, (len(shared), np.mean([mine[fold] - theirs[fold] for fold in shared], axis=0))


def _folds(jobs: Sequence[Job], method: str) -> dict[int, Rates]:
    """The values of every test stay in each fold that has results."""
    found = ((job.split.fold, job.hits()) for job in jobs if job.row == method)
    return {fold: _values(metrics) for fold, metrics in found if metrics is not None}


def _values(metrics: Metrics) -> Rates:
    """All cells of every test stay, per cent."""
    columns = np.stack([getattr(metrics, metric) for metric in METRICS], axis=2)  # (stays, at, metrics)
    return 100 * columns.reshape(len(metrics), len(CELLS))


def _intervals(
    cohort: str, method: str, differences: dict[str, tuple[int, Rates]], seed: int
) -> list[Comparison]:
    """All methods of a cohort are tested on the same stays, so they share the resamples."""
    together = np.hstack([values for _, values in differences.values()])  # (stays, others · cells)
    low, high = np.quantile(_resampled_means(together, seed), [0.05, 0.95], axis=0)
    middle = together.mean(axis=0)
    places = [(other, folds, cell) for other, (folds, _) in differences.items() for cell in CELLS]
    return [
        Comparison(cohort, method, other, folds, *cell, float(middle[i]), float(low[i]), float(high[i]))
        for i, (other, folds, cell) in enumerate(places)
    ]


def _resampled_means(values: Rates, seed: int) -> Rates:
    """Means over stays drawn with replacement, (resamples, columns). Raw PCG64 output is the same everywhere."""
    stays, bits = len(values), np.random.PCG64(seed)
    means = []
    with threadpool_limits(
        1
    ):  # next to another busy process, the library's waiting threads cost five times the work
        for _ in range(RESAMPLES // _PORTION):
            drawn = (bits.random_raw(_PORTION * stays) % np.uint64(stays)).astype(np.int64)
            drawn = drawn.reshape(_PORTION, stays) + stays * np.arange(_PORTION)[:, None]
            taken = np.bincount(drawn.ravel(), minlength=_PORTION * stays).reshape(_PORTION, stays)
            means.append(taken.astype(np.float64) @ values / stays)
    return np.concatenate(means)
