"""Training from Python, `dx2px.train` and `dx2px.adapt`: what they return can be measured, saved, and asked at once.

Learning does not know how questions are answered. This file stands above both and joins them.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from dx2px.answers import Explanation, Model, Recommendation
from dx2px.answers.shipped import model_path
from dx2px.codes import System
from dx2px.cohort import Cohort
from dx2px.cohort.cohort import check_cohort
from dx2px.methods.coupling.adapted import AdaptedModel
from dx2px.methods.coupling.warm_start import Base
from dx2px.methods.train import RunConfig
from dx2px.methods.train import train as learn
from dx2px.training import run
from dx2px.training.recommender import Say, silent
from dx2px.training.run import SplitConfig


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
    check_cohort(cohort)
    return Trained(**vars(learn(cohort, config, **options)))


def adapt(
    cohort: Cohort,
    base: str | os.PathLike[str] | None = None,
    split: SplitConfig | None = None,
    *,
    seed: int = 0,
    threads: int | None = None,
    say: Say = silent,
    **options: Any,
) -> Trained:
    """Learn from one's own stays, starting from a trained model of the default method.

    The model that results knows the base's codes and the cohort's. How far it goes from the base is chosen on
    validation stays; where nothing does better than the base alone, its weights are kept, and the model's card says so.

    Args:
        cohort: The stays.
        base: A model folder, or the name of a model in the package. By default the package's model that answers in the
            system of the cohort's procedures.
        split: Which stays are learned from, which validate, and which are held out for the test.
        seed: Fixes the order of the stays and all other draws.
        threads: How many threads to use; None leaves it to torch and numba.
        say: Called with a line of text for each step of the work.
        options: As for `train`: `hooks`, `checkpoint` (the state of each run is kept beside this file), `resume`,
            `device`; and `half`, to keep the weights in half precision.

    Returns:
        The adapted model with its cohort and split, as `train` returns it.

    Raises:
        CohortError: The cohort is too small, has one procedure only, or has no codes that the base knows.
        ModelError: There is no such base, or it is of another method.
        TrainingError: The loss is no longer finite, or this machine does not have the device.
    """
    check_cohort(cohort)
    path = model_path(_suited(cohort) if base is None else base)
    start = Base.of(Model.load(path).files, path.resolve().name, cohort)
    if start.warning:
        warnings.warn(start.warning, stacklevel=2)
    model = AdaptedModel(start, **options)
    learned = run.learn(start.cohort, model, split, seed=seed, threads=threads, say=say)
    return Trained(**vars(replace(learned, notes=model.notes)))


def _suited(cohort: Cohort) -> Path:
    """The package's model for a cohort's procedures."""
    tenth = all(code.startswith(f"{System.ICD10PCS}:") for code in cohort.procedure_vocabulary)
    return model_path(None, "icd10pcs" if tenth else "icd9pcs")
