"""A fold of a cohort, for studies of methods that score by a number for each pair of codes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dx2px import Cohort
from dx2px.baselines.method import Task, additive
from dx2px.baselines.stays import Seen, incidences
from dx2px.evaluation.metrics import evaluate
from dx2px.evaluation.run import SplitConfig

HEAD = "F1@1 | F1@3 | F1@5 | F1@10"


@dataclass(frozen=True, eq=False)
class Pairs:
    """Training rows, how often their codes meet, and the stays that judge."""

    task: Task
    judges: Cohort

    @classmethod
    def of(cls, path: Path, fold: int, part: str = "validation") -> Pairs:
        """The fold that a benchmark would learn, with its seed; split by stay, ten folds inside 80 %."""
        cohort = Cohort.load(path)
        split = SplitConfig(by="stay").split(cohort)
        task = Task(cohort, split.training(fold), split.validation(fold), seed=fold)
        return cls(task, cohort.subset(split.test if part == "test" else task.validation))

    @cached_property
    def w(self) -> NDArray[np.float64]:
        """The number of training stays with both codes, (d, p)."""
        D, P = incidences(self.task.cohort, self.task.training)
        return np.asarray((D.T @ P).toarray(), np.float64)

    @cached_property
    def seen(self) -> Seen:
        """What the training stays hold."""
        return Seen.of(self.task.cohort, self.task.training)

    def f1(self, table: NDArray[np.floating]) -> list[float]:
        """At 1, 3, 5, 10, of a score for each pair of codes."""
        scores = additive(self.seen, table.astype(np.float32), {}).scores
        return list(evaluate(scores, self.judges.diagnoses, self.judges.procedures).mean("f1").values())


def cells(f1: list[float]) -> str:
    """F1 at 1, 3, 5, 10 as cells of a Markdown table."""
    return " | ".join(f"{value:.1f}" for value in f1)
