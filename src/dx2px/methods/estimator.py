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
    """Any method as a scikit-learn estimator.

    `X` holds the diagnoses of each stay and `y` its procedures, as lists of codes as people write them. One stay in
    ten validates; none is held out for a test. A parameter that the method does not have is ignored.

    After `fit`, `classes_` holds the procedures as canonical codes, in the order of the columns of `predict_proba`, and
    `trained_` the trained method, a `Trained`.

    Args:
        method: `coupling`, a variant of the paper's model such as `e+sa+ma`, or any other method of `dx2px train`.
        dim: Dimension of the vectors.
        heads: Heads of the paper's self-attention.
        alpha: Weight of the paper's transport loss.
        epochs: Passes over the stays; the method's own default if None.
        batch_size: Stays per step; the method's own default if None.
        lr: Learning rate; the method's own default if None.
        seed: Fixes the initial weights, the order of the stays and all other draws.
    """

    def __init__(
        self,
        method: str = DEFAULT,
        dim: int = 200,
        heads: int = 8,
        alpha: float = 0.1,
        epochs: int | None = None,
        batch_size: int | None = None,
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
        """The constructor's arguments, as scikit-learn's searches ask for them.

        Args:
            deep: Makes no difference here; scikit-learn passes it.
        """
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Change constructor arguments.

        Args:
            **params: New values, by name.

        Raises:
            InputError: There is no such parameter.
        """
        unknown = sorted(params.keys() - self.get_params().keys())
        if unknown:
            raise InputError(f"ProcedureRecommender has no parameter {', '.join(unknown)}.")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def fit(self, X: Lists, y: Lists) -> Self:
        """Learn from stays.

        Args:
            X: The diagnoses of each stay.
            y: The procedures of each stay, in the same order.

        Raises:
            InputError: A stay has no diagnoses or no procedures, a text is not a code, or there are fewer than ten
                stays.
            TrainingError: The loss is no longer finite.
        """
        cohort = Cohort.from_lists(_canonical(X, "diagnosis"), _canonical(y, "procedure"))
        known = learner_class(self.method).options_of(self.method)
        given = self.get_params() | {"evidence": "codes"}  # X is nothing but diagnoses
        options = {name: value for name, value in given.items() if name in known}
        split = SplitConfig(by="stay", test_share=0.0)
        self.trained_: Trained = learn(cohort, recommender(self.method, **options), split, seed=self.seed)
        self.classes_ = np.array(cohort.procedure_vocabulary.codes)
        return self

    def predict_proba(self, X: Lists) -> NDArray[np.float32]:
        """Calibrated probabilities: one row per stay, one column per procedure of `classes_`.

        Args:
            X: The diagnoses of each stay. Those that the model does not know are ignored.

        Raises:
            InputError: The model knows none of a stay's diagnoses, a text is not a code, or `fit` was not called.
        """
        return self._fitted.calibration.probability(self._scores(X)).astype(np.float32)

    def predict(self, X: Lists, top: int = 5) -> list[list[str]]:
        """The best procedures of each stay as canonical codes, best first.

        Args:
            X: The diagnoses of each stay. Those that the model does not know are ignored.
            top: How many procedures per stay.

        Raises:
            InputError: The model knows none of a stay's diagnoses, a text is not a code, or `fit` was not called.
        """
        return [self.classes_[row].tolist() for row in top_l(self._scores(X), top)]

    def score(self, X: Lists, y: Lists) -> float:
        """Mean F1@5 over the stays, from 0 to 1. Procedures that the model does not know count as missed.

        Args:
            X: The diagnoses of each stay.
            y: The procedures of each stay, in the same order.

        Raises:
            InputError: The model knows none of a stay's diagnoses, a stay has no procedures, a text is not a code, or
                `fit` was not called.
        """
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
