"""The part of a cohort that a saved model learned from, validated on, or has not seen."""

from __future__ import annotations

import numpy as np

from dx2px.cohort import Cohort, Split
from dx2px.errors import InputError
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
