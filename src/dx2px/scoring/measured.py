"""What a saved model is measured on: the part of a cohort that it has not seen; and the record of the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dx2px.cohort import Cohort, Split, Vocabulary
from dx2px.cohort.fingerprint import fingerprint
from dx2px.cohort.projection import ProjectionCounts, project
from dx2px.errors import InputError, ModelError
from dx2px.scoring.folder import ModelFiles
from dx2px.scoring.metrics import Metrics
from dx2px.scoring.reliability import Reliability

DATA_KEY = "data"  # in a model's settings: the fingerprint of its cohort


def learned_from(files: ModelFiles, cohort: Cohort) -> bool:
    """Whether this is the cohort that the model was made from, or adapted to."""
    return files.settings.get(DATA_KEY) == fingerprint(in_codes_of(files, cohort))


def in_codes_of(files: ModelFiles, cohort: Cohort) -> Cohort:
    """The cohort over the model's vocabularies, if these hold all its codes: an adapted model has its base's, too."""
    own = Vocabulary(files.diagnoses), Vocabulary(files.procedures)
    theirs = cohort.diagnosis_vocabulary, cohort.procedure_vocabulary
    if theirs == own or any(not set(some) <= set(all_) for some, all_ in zip(theirs, own, strict=True)):
        return cohort
    return project(cohort, *own).cohort


def learning_part(files: ModelFiles, cohort: Cohort, part: str) -> Cohort:
    """The `test`, `train` or `all` stays of the model's own cohort."""
    cohort = in_codes_of(files, cohort)
    if part == "all":
        return cohort
    if files.split is None:
        raise InputError("The model does not say how its cohort was split: measure it on all stays.")
    split = Split.from_bytes(files.split)
    if len(split.part) != len(cohort):
        raise ModelError(
            f"The model's split is of {len(split.part):,} stays and its cohort has {len(cohort):,}: "
            "measure it on all stays, or train it again."
        )
    rows = split.test if part == "test" else split.training(validation_fold(files))
    return cohort.subset(np.asarray(rows))


def validation_fold(files: ModelFiles) -> int:
    """The fold that was held out for validation."""
    split = files.settings.get("split")
    fold = split.get("fold") if isinstance(split, Mapping) else None
    if type(fold) is not int:
        raise ModelError(
            "The model's settings do not say which fold it was validated on: measure it on test or all stays."
        )
    return fold


@dataclass(frozen=True, eq=False)
class Measured:
    """The stays to measure a model on; `counts` says what was left out of a cohort that it did not learn from."""

    stays: Cohort
    part: str
    counts: ProjectionCounts | None


def measured_part(files: ModelFiles, cohort: Cohort, part: str | None = None) -> Measured:
    """The given part of the model's own cohort (the test part by default); all of another, in the model's codes."""
    if learned_from(files, cohort):
        name = part or "test"
        return Measured(learning_part(files, cohort, name), name, None)
    if part not in (None, "all"):
        raise InputError(
            f"The model did not learn from this cohort, so the cohort has no {part} part: use --on all."
        )
    projected = project(cohort, Vocabulary(files.diagnoses), Vocabulary(files.procedures))
    return Measured(projected.cohort, "all", projected.counts)


def measured_record(test: Metrics, trust: Reliability, codes: Metrics | None = None) -> dict[str, Any]:
    """What was measured, as plain numbers: the entry `measured` of a model folder.

    `codes` is of the same stays, answered from their diagnoses alone.
    """
    alone = {} if codes is None else {"codes": codes.to_dict()["top"]}
    return test.to_dict() | alone | {"calibration": trust.to_dict()}
