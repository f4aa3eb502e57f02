"""Training from Python, `dx2px.train`: what it returns can be measured, saved, and asked at once.

Learning does not know how questions are answered. This file stands above both and joins them.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from dx2px.answers import Explanation, Model, Recommendation
from dx2px.cohort import Cohort
from dx2px.methods.train import RunConfig
from dx2px.methods.train import train as learn
from dx2px.training import run


class Trained(run.Trained):
    """A trained method with the cohort it learned from and that cohort's split; it answers as a saved model does.

    Attributes:
        cohort: The cohort.
        split: Which part each stay belongs to.
        fold: The fold that validated.
        recommender: The trained method.
        notes: A text for the model card.
    """

    def __repr__(self) -> str:
        return (
            f"Trained({self.recommender.method} on {len(self.rows('train')):,} of {len(self.cohort):,} stays)"
        )

    @cached_property
    def model(self) -> Model:
        """The model, as `Model.load` would give it after `save`."""
        return Model(self.answering())

    def recommend(self, codes: Any, top: int = 5, **options: Any) -> Recommendation:
        """Recommend procedures for a stay's diagnoses; see `Model.recommend`."""
        return self.model.recommend(codes, top, **options)

    def explain(self, codes: Any, procedures: Any = None, top: int = 5, **options: Any) -> Explanation:
        """Explain which diagnoses lead to which procedures; see `Model.explain`."""
        return self.model.explain(codes, procedures, top, **options)


def train(cohort: Cohort, config: RunConfig | None = None, **options: Any) -> Trained:
    """Learn a model from a cohort.

    Args:
        cohort: The stays.
        config: Which method, with which settings, on which split; the default method with its defaults if None.
        options: `hooks`: functions to call during the run, see `dx2px.training.loop.Hooks`. `checkpoint`: a file for
            the state of the run, so that it can be stopped and resumed. `resume`: continue from the checkpoint, to the
            same weights as a run that was never stopped. `device`: where torch computes, `cpu`, `cuda` or `mps`.
            `threads`: how many threads to use; None leaves it to torch and numba.

    Returns:
        The trained method with its cohort and split. `recommend` and `explain` ask it, `evaluate` measures it, `save`
        writes a model folder.

    Raises:
        CohortError: The cohort cannot be split as asked.
        ModelError: There is no checkpoint to resume from, or it is of another run.
        TrainingError: The loss is no longer finite, or this machine does not have the device.
    """
    return Trained(**vars(learn(cohort, config, **options)))
