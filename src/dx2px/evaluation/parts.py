"""The part of a cohort that a saved model learned from, validated on, or has not seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dx2px.cohort import Cohort, Split, Vocabulary
from dx2px.errors import InputError
from dx2px.evaluation.projection import ProjectionCounts, project
from dx2px.model.folder import ModelFiles
from dx2px.training.checkpoint import fingerprint

DATA_KEY = "data"  # in a model's settings: the fingerprint of its cohort


def learned_from(files: ModelFiles, cohort: Cohort) -> bool:
    """Whether this is the very cohort that the model was made from."""
    return files.settings.get(DATA_KEY) == fingerprint(cohort)


def learning_part(files: ModelFiles, cohort: Cohort, part: str) -> Cohort:
    """The `test`, `train` or `all` stays of the model's own cohort."""
    if part == "all":
        return cohort
    if files.split is None:
        raise InputError("The model does not say how its cohort was split: measure on all stays.")
    split = Split.from_bytes(files.split)
    fold = files.settings["split"]["fold"]
    rows = split.test if part == "test" else split.training(fold)
    return cohort.subset(np.asarray(rows))


@dataclass(frozen=True, eq=False)
class Measured:
    """The stays to measure a model on; `counts` tells what was set aside of a cohort it did not learn from."""

    stays: Cohort
    part: str
    counts: ProjectionCounts | None


def measured_part(files: ModelFiles, cohort: Cohort, part: str | None = None) -> Measured:
    """The part asked for, or the test part, of the model's own cohort; all of another, over the model's codes."""
    if learned_from(files, cohort):
        name = part or "test"
        return Measured(learning_part(files, cohort, name), name, None)
    if part not in (None, "all"):
        raise InputError(
            f"The model did not learn from this cohort, so it has no {part} part of it: use --on all."
        )
    projected = project(cohort, Vocabulary(files.diagnoses), Vocabulary(files.procedures))
    return Measured(projected.cohort, "all", projected.counts)
