"""Choosing settings: mean F1@5 on the validation stays, and a record of everything that was tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from dx2px.cohort import Cohort, Ragged
from dx2px.errors import InputError
from dx2px.model.ranking import top_l
from dx2px.training.batches import Rows
from dx2px.training.recommender import Floats, Say

AT = 5
BLOCK = 4096
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Validation:
    """Stays that choose."""

    diagnoses: Ragged
    procedures: Ragged

    @classmethod
    def of(cls, cohort: Cohort, rows: Rows) -> Validation:
        """The given stays."""
        if not len(rows):
            raise InputError("There are no validation stays to choose settings with.")
        return cls(cohort.diagnoses.take(rows), cohort.procedures.take(rows))

    def f1(self, scores: Callable[[Ragged], Floats]) -> float:
        """Mean F1@5 in per cent, as `evaluation.metrics` computes it."""
        found = np.empty(len(self.diagnoses))
        for start in range(0, len(found), BLOCK):
            rows = np.arange(start, min(start + BLOCK, len(found)))
            best = top_l(scores(self.diagnoses.take(rows)), AT)  # (i, 5)
            found[rows] = _f1(best.astype(np.int64), self.procedures.take(rows))
        return 100 * float(found.mean())


def _f1(best: Any, procedures: Ragged) -> Any:
    recorded = np.zeros((len(best), 1 + max(best.max(), procedures.values.max())), np.bool_)
    recorded[procedures.row_of_entry, procedures.values] = True
    hits = np.take_along_axis(recorded, best, axis=1).sum(axis=1)
    return 2 * hits / (best.shape[1] + procedures.lengths)


@dataclass(frozen=True, eq=False)
class Trial(Generic[T]):
    """One combination of settings, what it came to on validation, and what was learned with it."""

    settings: dict[str, Any]
    f1: float
    learned: T

    def record(self) -> dict[str, Any]:
        """As a model's settings keep it."""
        return self.settings | {"validation_f1": round(self.f1, 4)}


@dataclass(frozen=True, eq=False)
class Choice(Generic[T]):
    """The best trial, the first of equals, and the records of all."""

    best: Trial[T]
    tried: list[dict[str, Any]]


def choose(trials: Iterable[Trial[T]], say: Say) -> Choice[T]:
    """Run through the trials, keeping only the best one in memory."""
    best: Trial[T] | None = None
    tried = []
    for trial in trials:
        tried.append(trial.record())
        say(", ".join(f"{name} {value}" for name, value in trial.record().items()))
        if best is None or trial.f1 > best.f1:
            best = trial
    assert best is not None, "a grid holds at least one combination"
    return Choice(best, tried)
