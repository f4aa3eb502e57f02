"""What every method offers, so that training, evaluation, saving and the benchmark treat all alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort import Cohort, Ragged

if TYPE_CHECKING:
    from dx2px.training.batches import Rows

Floats = NDArray[np.float32]
Say = Callable[[str], None]


def silent(text: str) -> None:
    """Tell nobody."""


class Recommender(Protocol):
    """Constructors store hyper-parameters, `fit` computes. A seed, a cohort and its rows decide the result.

    Diagnoses that no training stay had are left out of a stay; a stay of nothing else is given the popularity
    of the procedures. Equal scores are ranked by the procedure's index, which is the order of the codes' text.
    """

    method: str

    def fit(
        self, cohort: Cohort, training: Rows, validation: Rows, *, seed: int = 0, say: Say = silent
    ) -> Self:
        """Learn from the training rows; the validation rows choose among settings and end the learning."""

    def scores(self, diagnoses: Ragged) -> Floats:
        """The score of each procedure for each stay, (i, p): the higher the better."""

    def settings(self) -> dict[str, Any]:
        """Hyper-parameters as JSON values, with those chosen on validation and what else was tried."""

    def arrays(self) -> dict[str, Floats]:
        """What a model folder keeps: `scores` follows from these arrays alone."""
