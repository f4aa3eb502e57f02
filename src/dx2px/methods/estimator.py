"""A scikit-learn estimator: fit lists of codes, predict the probability of each procedure."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dx2px.codes import Kind, resolve
from dx2px.cohort import Cohort, Ragged
from dx2px.errors import InputError
from dx2px.methods import learner_class, recommender
from dx2px.scoring.methods import DEFAULT
from dx2px.scoring.metrics import evaluate
from dx2px.scoring.ranking import top_l
from dx2px.training.run import SplitConfig, Trained, learn

Lists = Sequence[Sequence[str]]


class ProcedureRecommender:
    """`fit(X, y)` with X the diagnoses and y the procedures of each stay, as people write codes.

    `get_params` and `set_params` work as scikit-learn's, so that its searches can clone and tune it. A tenth of the
    stays is used for validation; none are held out for a test. A parameter that the method does not have is ignored.
    """

    def __init__(
        self,
        method: str = DEFAULT,
        dim: int = 200,
        heads: int = 8,
        alpha: float = 0.1,
        epochs: int | None = None,
        batch_size: int = 300,
        lr: float | None = None,
        seed: int = 0,
    ) -> None:
        self.method = method
        self.dim = dim
        self.heads = heads
        self.alpha = alpha
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr
        self.seed = seed

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Change constructor arguments."""
        unknown = sorted(params.keys() - self.get_params().keys())
        if unknown:
            raise InputError(f"ProcedureRecommender has no parameter {', '.join(unknown)}.")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def fit(self, X: Lists, y: Lists) -> Self:
        """Learn from stays; a stay without diagnoses or procedures is an error."""
        cohort = Cohort.from_lists(_canonical(X, "diagnosis"), _canonical(y, "procedure"))
        known = learner_class(self.method).options_of(self.method)
        options = {name: value for name, value in self.get_params().items() if name in known}
        split = SplitConfig(by="stay", test_share=0.0)
        self.trained_: Trained = learn(cohort, recommender(self.method, **options), split, seed=self.seed)
        self.classes_ = np.array(cohort.procedure_vocabulary.codes)
        return self

    def predict_proba(self, X: Lists) -> NDArray[np.float32]:
        """The calibrated probability of each stay (row) and procedure (column of `classes_`)."""
        return self._fitted.calibration.probability(self._scores(X)).astype(np.float32)

    def predict(self, X: Lists, top: int = 5) -> list[list[str]]:
        """The `top` best procedures of each stay."""
        return [self.classes_[row].tolist() for row in top_l(self._scores(X), top)]

    def score(self, X: Lists, y: Lists) -> float:
        """Mean F1@5 over the stays, from 0 to 1; procedures that the model does not know count as missed."""
        vocabulary = self._fitted.cohort.procedure_vocabulary
        known = [[vocabulary.get(code) for code in codes] for codes in _canonical(y, "procedure")]
        # An unknown procedure gets an index beyond the columns, so that no recommendation can match it.
        beyond = len(vocabulary)
        truth = Ragged.from_lists([[beyond if i is None else i for i in dict.fromkeys(row)] for row in known])
        found = evaluate(self._fitted.scorer.scores, self._known(X), truth, at=(5,))
        return found.mean("f1")[5] / 100

    def _scores(self, X: Lists) -> NDArray[np.float32]:
        return self._fitted.scorer.scores(self._known(X))

    @property
    def _fitted(self) -> Trained:
        if not hasattr(self, "trained_"):
            raise InputError("This ProcedureRecommender has learned nothing yet: call fit first.")
        return self.trained_

    def _known(self, X: Lists) -> Ragged:
        vocabulary = self._fitted.cohort.diagnosis_vocabulary
        rows = [
            [index for code in codes if (index := vocabulary.get(code)) is not None]
            for codes in _canonical(X, "diagnosis")
        ]
        empty = sum(not row for row in rows)
        if empty:
            raise InputError(f"{empty} of {len(rows)} stays have no diagnosis that the model knows.")
        return Ragged.from_lists(rows)


def _canonical(lists: Lists, kind: Kind) -> list[list[str]]:
    """Canonical codes, each once per stay."""
    return [list(dict.fromkeys(resolve(code, kind) for code in codes)) for codes in lists]
