"""What the methods share that do not use the training loop: fit once, keep arrays and settings.

Each of them keeps `seen` and `popularity` beside its own arrays (`dx2px.scoring.baselines` has the rule for diagnoses
that no training stay had). Settings are chosen by mean F1@5 on the validation stays, computed by the scorer that a
saved model answers with.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from dx2px.cohort import Cohort
from dx2px.errors import InputError
from dx2px.scoring.baselines import RULES
from dx2px.scoring.methods import scorer_of
from dx2px.scoring.metrics import Scores, evaluate
from dx2px.scoring.segments import Arrays, Floats
from dx2px.training.batches import Rows
from dx2px.training.recommender import Recommender, Say, silent

AT = 5


@dataclass(frozen=True, eq=False)
class Task:
    """What a method learns from."""

    method: str
    cohort: Cohort
    training: Rows
    validation: Rows
    seed: int = 0
    say: Say = silent

    def __post_init__(self) -> None:
        if not len(self.training):
            raise InputError("There are no training stays to learn from.")

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of diagnosis and procedure codes."""
        return len(self.cohort.diagnosis_vocabulary), len(self.cohort.procedure_vocabulary)

    @cached_property
    def seen(self) -> dict[str, Floats]:
        """Which diagnoses the training stays have, and how many of them have each procedure."""
        diagnoses = self.cohort.diagnoses.take(self.training).counts(self.sizes[0])
        procedures = self.cohort.procedures.take(self.training).counts(self.sizes[1])
        return {"seen": (diagnoses > 0).astype(np.float32), "popularity": procedures.astype(np.float32)}

    @cached_property
    def held_out(self) -> Cohort:
        """The validation stays."""
        if not len(self.validation):
            raise InputError("There are no validation stays to choose settings with.")
        return self.cohort.subset(self.validation)

    def f1(self, own: Arrays) -> float:
        """Mean F1@5, in per cent, of a model with these arrays on the validation stays."""
        return self._f1(scorer_of(self.method, {**self.seen, **own}, {}).scores)

    def under_other_rules(self, own: Arrays) -> dict[str, float]:
        """Mean F1@5 of the same vectors under each scoring rule: what a method owes to its own rule."""
        arrays = {**self.seen, **own}
        return {name: round(self._f1(rule(arrays).scores), 4) for name, rule in RULES.items()}

    def _f1(self, scores: Scores) -> float:
        found = evaluate(scores, self.held_out.diagnoses, self.held_out.procedures, at=(AT,))
        return found.mean("f1")[AT]


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a method learned: its own arrays, beside those of `Task.seen`, and its settings."""

    own: Arrays = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


class Baseline(Recommender):
    """A `Recommender` whose subclasses only say how they learn. `config` is a dataclass, or None without settings."""

    config: Any = None
    _learned: Fitted | None = None

    def fit(
        self, cohort: Cohort, training: Rows, validation: Rows, *, seed: int = 0, say: Say = silent
    ) -> Self:
        """Learn from the training rows; the validation rows choose settings and decide when to stop."""
        task = Task(self.method, cohort, training, validation, seed, say)
        found = self._learn(task)
        self._learned = Fitted({**task.seen, **found.own}, found.settings)
        return self

    def initial_settings(self, seed: int) -> dict[str, Any]:
        """The configuration."""
        return {} if self.config is None else asdict(self.config)

    def settings(self) -> dict[str, Any]:
        """The configuration, with what was chosen on validation and all that was tried."""
        return dict(self._fitted.settings)

    def arrays(self) -> dict[str, Floats]:
        """What a model folder keeps."""
        own = self._fitted.own
        return {name: np.asarray(array, np.float32, order="C") for name, array in own.items()}

    @property
    def _fitted(self) -> Fitted:
        if self._learned is None:
            raise InputError(f"The method {self.method} has learned nothing yet: call fit first.")
        return self._learned

    @abstractmethod
    def _learn(self, task: Task) -> Fitted: ...
