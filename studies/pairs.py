"""One fold of a cohort, for methods that score by a number for each pair of codes.

Shared by the studies; not run by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dx2px import Cohort
from dx2px.methods.baseline import Task
from dx2px.methods.counts import Counts
from dx2px.scoring.baselines import TableScorer
from dx2px.scoring.metrics import evaluate
from dx2px.training.run import SplitConfig

HEAD = "F1@1, % | F1@3, % | F1@5, % | F1@10, %"


@dataclass(frozen=True, eq=False)
class Pairs:
    """Training rows, how often their codes occur together, and the stays that scores are measured on."""

    task: Task
    measured: Cohort

    @classmethod
    def of(cls, path: Path, fold: int, part: str = "validation") -> Pairs:
        """The fold that a benchmark would learn, with its seed; split by stay, ten folds inside 80 %."""
        cohort = Cohort.load(path)
        split = SplitConfig(by="stay").split(cohort)
        task = Task("cooccurrence", cohort, split.training(fold), split.validation(fold), seed=fold)
        return cls(task, cohort.subset(split.test if part == "test" else task.validation))

    @cached_property
    def counts(self) -> Counts:
        """What the training stays hold."""
        return Counts.of(self.task.cohort, self.task.training)

    @property
    def w(self) -> NDArray[np.float64]:
        """The number of training stays with both codes, (d, p)."""
        return self.counts.pairs

    def f1(self, table: NDArray[np.floating]) -> list[float]:
        """At 1, 3, 5 and 10, of a score for each pair of codes."""
        scorer = TableScorer({**self.task.seen, "T": table.astype(np.float32)})
        found = evaluate(scorer.scores, self.measured.diagnoses, self.measured.procedures)
        return list(found.mean("f1").values())


def cells(f1: list[float]) -> str:
    """F1 at 1, 3, 5 and 10 as cells of a Markdown table."""
    return " | ".join(f"{value:.1f}" for value in f1)
