"""A scikit-learn estimator: fit lists of codes, predict the probability of each procedure."""

from __future__ import annotations

import inspect
import sys
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort import Cohort, Ragged
from dx2px.errors import InputError
from dx2px.methods import learner_class, recommender
from dx2px.methods.stay_lists import column_names, stay_lists
from dx2px.scoring.methods import DEFAULT
from dx2px.scoring.metrics import evaluate
from dx2px.scoring.ranking import top_l
from dx2px.training.run import SplitConfig, Trained, learn

FEWEST = 10  # stays, one of which validates
Stays = Any  # lists of codes, or a frame or matrix of zeros and ones: see `stay_lists`


class ProcedureRecommender:
    """Any method as a scikit-learn estimator.

    `X` holds the diagnoses of each stay and `y` its procedures: lists of codes as people write them (a list or a
    Series), or a data frame with one column per code that is 1 where the stay has it. One stay in ten validates; none
    is held out for a test. A parameter that the method does not have is ignored. `cross_val_score`, `GridSearchCV`,
    `Pipeline` and `clone` take it as they take scikit-learn's own.

    After `fit`, `classes_` holds the procedures as canonical codes, in the order of the columns of `predict_proba`, and
    `trained_` the trained method; if X was a frame of codes, `feature_names_in_` are its columns.

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

    def __repr__(self) -> str:
        usual = {name: one.default for name, one in inspect.signature(type(self)).parameters.items()}
        changed = (f"{name}={value!r}" for name, value in self.get_params().items() if value != usual[name])
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of an estimator: X is not a matrix of numbers, y is needed and has many labels."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,  # a classifier would have to take y as numbers
            target_tags=TargetTags(required=True, multi_output=True),
            input_tags=InputTags(two_d_array=False, string=True),
        )

    def fit(self, X: Stays, y: Stays = None) -> Self:
        """Learn from stays.

        Args:
            X: The diagnoses of each stay.
            y: The procedures of each stay, in the same order.

        Raises:
            InputError: A stay has no diagnoses or no procedures, a text is not a code, or there are fewer than ten
                stays.
            TrainingError: The loss is no longer finite.
        """
        cohort = Cohort.from_lists(stay_lists(X, "diagnosis"), stay_lists(y, "procedure"))
        if len(cohort) < FEWEST:
            raise InputError(
                f"fit needs at least {FEWEST} stays, some of which validate; there are {len(cohort)}."
            )
        known = learner_class(self.method).options_of(self.method)
        given = self.get_params() | {"evidence": "codes"}  # X is nothing but diagnoses
        options = {name: value for name, value in given.items() if name in known}
        split = SplitConfig(by="stay", test_share=0.0)
        self.trained_: Trained = learn(cohort, recommender(self.method, **options), split, seed=self.seed)
        self.classes_ = np.array(cohort.procedure_vocabulary.codes)
        vars(self).pop("feature_names_in_", None)
        if names := column_names(X):
            self.feature_names_in_ = np.array(names, object)
        return self

    def predict_proba(self, X: Stays) -> NDArray[np.float32]:
        """Calibrated probabilities: one row per stay, one column per procedure of `classes_`.

        Args:
            X: The diagnoses of each stay. Those that the model does not know are ignored.

        Raises:
            InputError: The model knows none of a stay's diagnoses, a text is not a code, or `fit` was not called.
        """
        rows = self._known(X)
        if empty := int((rows.lengths == 0).sum()):
            raise InputError(f"{empty} of {len(rows)} stays have no diagnosis that the model knows.")
        scores = self._fitted.scorer.scores(rows)
        return self._fitted.calibration.probability(scores).astype(np.float32)

    def predict(self, X: Stays, top: int = 5) -> list[list[str]]:
        """The best procedures of each stay as canonical codes, best first.

        Args:
            X: The diagnoses of each stay. Those that the model does not know are ignored; a stay without any other
                gets an empty list.
            top: How many procedures per stay.

        Raises:
            InputError: A text is not a code, or `fit` was not called.
        """
        rows = self._known(X)
        answered = np.flatnonzero(rows.lengths)
        found: list[list[str]] = [[] for _ in range(len(rows))]
        if len(answered):
            best = top_l(self._fitted.scorer.scores(rows.take(answered)), top)
            for place, row in zip(answered.tolist(), best, strict=True):
                found[place] = self.classes_[row].tolist()
        return found

    def score(self, X: Stays, y: Stays) -> float:
        """Mean F1@5 over the stays, from 0 to 1.

        Procedures that the model does not know count as missed, and so does a stay with none of its diagnoses.

        Args:
            X: The diagnoses of each stay.
            y: The procedures of each stay, in the same order.

        Raises:
            InputError: A stay has no procedures, a text is not a code, or `fit` was not called.
        """
        vocabulary = self._fitted.cohort.procedure_vocabulary
        known = [[vocabulary.get(code) for code in codes] for codes in stay_lists(y, "procedure")]
        # An unknown procedure gets an index beyond the columns, so that no recommendation can match it.
        beyond = len(vocabulary)
        truth = Ragged.from_lists([[beyond if i is None else i for i in dict.fromkeys(row)] for row in known])
        rows = self._known(X)
        if len(rows) != len(truth):
            raise InputError(f"There are {len(rows)} lists of diagnoses but {len(truth)} of procedures.")
        answered = np.flatnonzero(rows.lengths)
        if not len(answered):
            return 0.0
        found = evaluate(self._fitted.scorer.scores, rows.take(answered), truth.take(answered), at=(5,))
        return found.mean("f1")[5] / 100 * len(answered) / len(rows)

    @property
    def _fitted(self) -> Trained:
        if not hasattr(self, "trained_"):
            raise _not_fitted("This ProcedureRecommender has learned nothing yet: call fit first.")
        return self.trained_

    def _known(self, X: Stays) -> Ragged:
        vocabulary = self._fitted.cohort.diagnosis_vocabulary
        rows = [
            [index for code in codes if (index := vocabulary.get(code)) is not None]
            for codes in stay_lists(X, "diagnosis", getattr(self, "feature_names_in_", None))
        ]
        return Ragged.from_lists(rows)


def _not_fitted(message: str) -> InputError:
    """The error, which is also scikit-learn's own where scikit-learn is in use."""
    if "sklearn" not in sys.modules:
        return InputError(message)
    from sklearn.exceptions import NotFittedError

    both: type[InputError] = type("NotFittedError", (InputError, NotFittedError), {})
    return both(message)
