"""The vectors of a method under three rules of scoring: how much of its result is due to its own rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dx2px.lab.benchmark.plan import Job
from dx2px.lab.benchmark.records import Record
from dx2px.scoring.baselines import RULES

OWN = {"word2vec": "inner product", "bpr": "inner product", "dwl": "inner product", "gwl": "κ, of the cosine"}


@dataclass(frozen=True)
class RuleRow:
    """Mean validation F1@5 of a method's vectors on a cohort, per cent."""

    cohort: str
    method: str
    folds: int
    own_rule: str
    own: float
    under: dict[str, float]  # by rule

    @property
    def best(self) -> str:
        """The rule that validation would pick from the menu."""
        return max(self.under, key=self.under.__getitem__)


def rules_of(jobs: Sequence[Job]) -> list[RuleRow]:
    """A row for each cohort and vector method that has results, in the order planned."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for job in jobs:
        if job.row in OWN and (result := job.result()) is not None:
            groups.setdefault((job.name, job.row), []).append(result)
    return [_row(cohort, method, results) for (cohort, method), results in groups.items()]


def _row(cohort: str, method: str, results: list[Record]) -> RuleRow:
    own = float(np.mean([result["validation"]["top"]["5"]["f1"] for result in results]))
    under = {
        rule: float(np.mean([result["settings"]["validation_f1"][rule] for result in results]))
        for rule in RULES
    }
    return RuleRow(cohort, method, len(results), OWN[method], own, under)
