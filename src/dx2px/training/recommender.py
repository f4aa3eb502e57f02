"""What every method offers, so that training, evaluation, saving and the benchmark treat them all alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dx2px.cohort import Cohort, Ragged
from dx2px.errors import InputError
from dx2px.scoring.evidence import layout_of
from dx2px.scoring.methods import scorer_of
from dx2px.scoring.scorer import Scorer
from dx2px.scoring.segments import Floats

if TYPE_CHECKING:
    import torch

    from dx2px.training.batches import Rows
    from dx2px.training.history import Epoch
    from dx2px.training.stays import Counts

Say = Callable[[str], None]


def silent(text: str) -> None:
    """Report nothing."""


class Recommender(ABC):
    """A method that can learn. The constructor stores hyper-parameters, `fit` computes.

    Seed, cohort and rows decide the result. Scores come only from the arrays, through the scorer that the method
    declares (`dx2px.scoring.methods`): what is measured is what a saved model answers.
    """

    method: str
    half: bool = False  # whether the arrays are kept in half precision
    options: ClassVar[frozenset[str]] = frozenset()  # of `dx2px train`, beyond those that every method takes

    @classmethod
    def named(cls, method: str, **options: Any) -> Self:
        """The method of this name. Options that are not given, or None, have the method's defaults."""
        cls._given(method, options)
        return cls()

    @classmethod
    def _given(cls, method: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options that are not None; an error if the method has no such option."""
        given = {name: value for name, value in options.items() if value is not None}
        if unknown := sorted(given.keys() - cls.options):
            raise InputError(f"The method {method} has no setting {', '.join(unknown)}.")
        return given

    @classmethod
    def options_of(cls, method: str) -> frozenset[str]:
        """Those of `options` that make a difference to the method of this name."""
        return cls.options

    @abstractmethod
    def fit(
        self, cohort: Cohort, training: Rows, validation: Rows, *, seed: int = 0, say: Say = silent
    ) -> Self:
        """Learn from the training rows; the validation rows choose settings and decide when to stop."""

    @abstractmethod
    def initial_settings(self, seed: int) -> dict[str, Any]:
        """The settings before learning, as JSON values: what decides a run besides its stays."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """The settings as JSON values, with those chosen on validation and all that was tried."""

    @abstractmethod
    def arrays(self) -> dict[str, Floats]:
        """What a model folder keeps."""

    @property
    def history(self) -> list[Epoch]:
        """The measures of each epoch, for a method that learns in epochs."""
        return []

    def stays_behind(self, diagnoses: Counts, procedures: Counts) -> tuple[Counts, Counts]:
        """How many stays taught each diagnosis and each procedure, given the training stays with each."""
        return diagnoses, procedures

    def tests(self) -> Sequence[tuple[Scorer, Cohort]]:
        """Scorers with stays they did not learn from, to fit probabilities on; none: the validation stays alone."""
        return ()

    def scorer(self) -> Scorer:
        """The scorer of what was learned."""
        return scorer_of(self.method, self.arrays(), self.settings())

    def scores(self, diagnoses: Ragged) -> Floats:
        """The score of each procedure for stays of which only diagnoses are known, (i, p): the higher the better."""
        scorer = self.scorer()
        layout = layout_of(scorer)
        return scorer.scores(diagnoses if layout is None else layout.rows(diagnoses))

    def blurred_scores(self, rows: Ragged, generator: torch.Generator) -> Floats:
        """Scores of stays that were learned from, for fitting probabilities of new stays, (i, p).

        A method knows its training stays too well. One that learns with dropout can score them with dropout, which
        makes their scores more like those of new stays. By default these are the plain scores.
        """
        return self.scorer().scores(rows)
