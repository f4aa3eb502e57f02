"""How well a model does for groups of stays: by age, sex, region, kind of admission, if the cohort has them.

A group of fewer than `SMALLEST` stays is left out, and another one with it if its size would follow from the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dx2px.cohort import Cohort
from dx2px.scoring.metrics import Metrics

SMALLEST = 11  # the smallest count that may be published
AGES = (0, 1, 18, 45, 65, 80)
RESAMPLES = 200


@dataclass(frozen=True)
class Subgroup:
    """The stays of one group, with F1@5 and recall@10 in per cent, and half of a 90 % interval of F1@5."""

    column: str
    group: str
    stays: int
    f1: float
    f1_margin: float
    recall: float


def subgroups(metrics: Metrics, stays: Cohort, seed: int = 0) -> list[Subgroup]:
    """Every group of every context column that is known for some of the measured stays.

    The principal diagnosis is a code, which has too many values to make groups.
    """
    if stays.context is None:
        return []
    rng = np.random.default_rng(seed)
    f1, recall = metrics.f1[:, metrics.at.index(5)], metrics.recall[:, metrics.at.index(10)]
    found = []
    for column in stays.context.column_names:
        if column == "principal" or stays.context.column(column).null_count == len(stays):
            continue
        for group, members in _published(_labels(stays.context, column)):
            mean, margin = _mean(100 * f1[members], rng)
            found.append(
                Subgroup(column, group, len(members), mean, margin, float(100 * recall[members].mean()))
            )
    return found


def publishable(counts: NDArray[np.integer]) -> list[int]:
    """Counts from 1 to `SMALLEST` as `SMALLEST`; 0 stays 0, as a code that was never seen must be recognisable."""
    blurred: list[int] = np.where((counts > 0) & (counts < SMALLEST), SMALLEST, counts).tolist()
    return blurred


def _labels(context: pa.Table, column: str) -> NDArray[np.str_]:
    values = context.column(column).to_pylist()
    return np.array([_band(value) if column == "age" else _text(value) for value in values])


def _band(age: int | None) -> str:
    if age is None:
        return "unknown"
    start = max(bound for bound in AGES if bound <= max(age, 0))
    later = [bound for bound in AGES if bound > start]
    if not later:
        return f"{start} and over"
    return "under 1" if start == 0 else f"{start} to {later[0] - 1}"


def _text(value: object) -> str:
    return "unknown" if value is None else str(value)


def published(sizes: NDArray[np.integer]) -> list[int]:
    """The groups that may be shown: not the small ones, nor the next larger one if only one is small."""
    order = sorted(range(len(sizes)), key=lambda i: int(sizes[i]))
    small = [i for i in order if sizes[i] < SMALLEST]
    hidden = set(
        small if len(small) != 1 else order[:2]
    )  # the size of one alone could be found by subtraction
    return [i for i in range(len(sizes)) if i not in hidden]


def _published(labels: NDArray[np.str_]) -> Iterator[tuple[str, NDArray[np.int64]]]:
    names, sizes = np.unique(labels, return_counts=True)
    for i in sorted(published(sizes), key=lambda i: (_first_year(str(names[i])), str(names[i]))):
        yield str(names[i]), np.flatnonzero(labels == names[i])


def _first_year(name: str) -> int:
    """Where a band of ages begins, to sort by; −1 for what is not a band."""
    start = name.split()[0]
    return int(start) if start.isdecimal() else -1


def _mean(values: NDArray[np.float64], rng: np.random.Generator) -> tuple[float, float]:
    """The mean, and half of the 5 to 95 % range of bootstrap means."""
    draws = [values[rng.integers(0, len(values), len(values))].mean() for _ in range(RESAMPLES)]
    low, high = np.quantile(draws, [0.05, 0.95])
    return float(values.mean()), float(high - low) / 2
