"""Rows of the benchmark's table: means over the folds with 90 % intervals, for each cohort and method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit  # type: ignore[import-untyped]

from dx2px.lab.benchmark.plan import Job
from dx2px.lab.benchmark.records import METRICS, Record

AT = ("1", "3", "5", "10")  # as records spell them


@dataclass(frozen=True)
class Cell:
    """A mean over folds, in per cent, and half of its 90 % interval (None with a single fold)."""

    mean: float
    half_width: float | None

    def __str__(self) -> str:
        return f"{self.mean:.1f}" + ("" if self.half_width is None else f" ± {self.half_width:.2f}")


@dataclass(frozen=True)
class Row:
    """A method on a cohort."""

    cohort: str
    sizes: tuple[int, int, int]  # stays, diagnoses, procedures
    method: str
    folds: int
    cells: dict[tuple[str, str], Cell]  # (L, name)
    cpu_seconds: float | None  # of all threads for one fold, the median of those runs that measured it
    peak_mb: int  # the most of any run


def rows_of(jobs: Sequence[Job]) -> list[Row]:
    """A row for each cohort and method that has results, in the order planned."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for job in jobs:
        result = job.result()
        if result is not None:
            groups.setdefault((job.name, job.row), []).append(result)
    return [_row(cohort, method, results) for (cohort, method), results in groups.items()]


def _row(cohort: str, method: str, results: list[Record]) -> Row:
    cells = {
        (L, name): _cell([result["test"]["top"][L][name] for result in results])
        for L in AT
        for name in METRICS
    }
    return Row(
        cohort=cohort,
        sizes=tuple(results[0]["sizes"]),
        method=method,
        folds=len(results),
        cells=cells,
        cpu_seconds=_median([result["cpu_seconds"] for result in results if "cpu_seconds" in result]),
        peak_mb=max(result["peak_mb"] for result in results),
    )


def _median(values: list[float]) -> float | None:
    return float(np.median(values)) if values else None


def _cell(values: list[float]) -> Cell:
    mean = float(np.mean(values))
    if len(values) < 2:
        return Cell(mean, None)
    t = float(stdtrit(len(values) - 1, 0.95))  # Student's: a 90 % interval has half its 10 % on either side
    return Cell(mean, t * float(np.std(values, ddof=1)) / math.sqrt(len(values)))
