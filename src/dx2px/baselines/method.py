"""The part of the `Recommender` protocol that all methods of this room share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from dx2px.baselines.stays import Seen, mean_of_rows
from dx2px.baselines.validation import Validation
from dx2px.cohort import Cohort, Ragged
from dx2px.errors import InputError
from dx2px.training.batches import Rows
from dx2px.training.recommender import Floats, Say, silent


@dataclass(frozen=True, eq=False)
class Task:
    """What a method is given to learn from."""

    cohort: Cohort
    training: Rows
    validation: Rows
    seed: int = 0
    say: Say = silent

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of diagnosis and procedure codes."""
        return len(self.cohort.diagnosis_vocabulary), len(self.cohort.procedure_vocabulary)

    def held_out(self) -> Validation:
        """The validation stays."""
        return Validation.of(self.cohort, self.validation)


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a method learned."""

    seen: Seen
    score: Callable[[Ragged], Floats]  # of stays that hold seen diagnoses only, at least one
    own: Mapping[str, Floats] = field(
        default_factory=dict
    )  # arrays of a model folder, beside those of `seen`
    settings: Mapping[str, Any] = field(default_factory=dict)

    def scores(self, diagnoses: Ragged) -> Floats:
        """The score of each procedure for each stay."""
        return self.seen.scores(diagnoses, self.score)  # (i, p)


def additive(
    seen: Seen, table: Floats, own: Mapping[str, Floats], settings: Mapping[str, Any] | None = None
) -> Fitted:
    """A method that scores a stay by the mean, over its diagnoses, of a number for each pair of codes."""
    return Fitted(seen, lambda rows: mean_of_rows(table, rows), own, settings or {})


class Method(ABC):
    """A `Recommender` whose subclasses say only how they learn."""

    method: str
    _fitted: Fitted | None = None

    def fit(
        self, cohort: Cohort, training: Rows, validation: Rows, *, seed: int = 0, say: Say = silent
    ) -> Self:
        """Learn from the training rows; the validation rows choose among settings and end the learning."""
        self._fitted = self._learn(Task(cohort, training, validation, seed, say))
        return self

    def scores(self, diagnoses: Ragged) -> Floats:
        """The score of each procedure for each stay, (i, p): the higher the better."""
        return self.fitted.scores(diagnoses)

    def settings(self) -> dict[str, Any]:
        """Hyper-parameters, with those chosen on validation and what else was tried."""
        return dict(self.fitted.settings)

    def arrays(self) -> dict[str, Floats]:
        """What a model folder keeps."""
        arrays = self.fitted.seen.arrays() | dict(self.fitted.own)
        return {name: np.asarray(array, np.float32, order="C") for name, array in arrays.items()}

    @property
    def fitted(self) -> Fitted:
        """What was learned; an error before `fit`."""
        if self._fitted is None:
            raise InputError(f"The method {self.method} has learned nothing yet: call fit first.")
        return self._fitted

    @abstractmethod
    def _learn(self, task: Task) -> Fitted: ...
