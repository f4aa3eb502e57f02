"""A cohort restricted to the codes that a model knows, so that the model can be measured at another hospital.

Codes that the model does not know are set aside; stays left without a diagnosis or a procedure are dropped.
Both are counted, because metrics over the remaining stays are honest only next to these counts.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dx2px.codes import Notation
from dx2px.cohort.cohort import Cohort
from dx2px.cohort.vocabulary import Vocabulary
from dx2px.errors import CohortError
from dx2px.ragged import Ragged


@dataclass(frozen=True)
class SetAside:
    """For one kind of code: what the cohort has, and how much of it the model does not know."""

    codes: int  # distinct codes that occur
    codes_set_aside: int
    entries: int
    entries_set_aside: int


@dataclass(frozen=True)
class ProjectionCounts:
    """`stays` = `stays_kept` + the stays left without a diagnosis, without a procedure, or without either."""

    stays: int
    stays_kept: int
    stays_without_diagnosis: int  # these two overlap: some stays are left with neither
    stays_without_procedure: int
    diagnoses: SetAside
    procedures: SetAside

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Projection:
    """The projected cohort, its stays' rows in the original one, and what was left out."""

    cohort: Cohort
    rows: NDArray[np.int64]
    counts: ProjectionCounts


def project(cohort: Cohort, diagnoses: Vocabulary, procedures: Vocabulary) -> Projection:
    """The cohort over the given vocabularies; a `CohortError` when no stay is left."""
    dx = _translate(cohort.diagnoses, cohort.diagnosis_vocabulary, diagnoses)
    px = _translate(cohort.procedures, cohort.procedure_vocabulary, procedures)
    rows = np.flatnonzero((dx.lengths > 0) & (px.lengths > 0))
    counts = ProjectionCounts(
        stays=len(cohort),
        stays_kept=len(rows),
        stays_without_diagnosis=int((dx.lengths == 0).sum()),
        stays_without_procedure=int((px.lengths == 0).sum()),
        diagnoses=_set_aside(cohort.diagnoses, dx, cohort.diagnosis_vocabulary, diagnoses),
        procedures=_set_aside(cohort.procedures, px, cohort.procedure_vocabulary, procedures),
    )
    if not len(rows):
        raise CohortError(
            f"None of the {len(cohort):,} stays has both a diagnosis and a procedure that the model knows. "
            + _apart(cohort, diagnoses, procedures)
        )
    kept = replace(
        cohort.subset(rows),
        diagnoses=dx.take(rows),
        procedures=px.take(rows),
        diagnosis_vocabulary=diagnoses,
        procedure_vocabulary=procedures,
    )
    return Projection(kept, rows, counts)


def _apart(cohort: Cohort, diagnoses: Vocabulary, procedures: Vocabulary) -> str:
    """Which codes of cohort and model are of different versions, as far as that can be told."""
    kinds = {
        "diagnoses": (cohort.diagnosis_vocabulary, diagnoses),
        "procedures": (cohort.procedure_vocabulary, procedures),
    }
    notations = {kind: [Notation.of(codes) for codes in both] for kind, both in kinds.items()}
    apart = [
        f"{kind} in {theirs.name}, the model has {own.name}"
        for kind, (theirs, own) in notations.items()
        if not theirs.systems & own.systems
    ]
    if not apart:
        return "Their codes are of the same ICD versions."
    return f"The cohort has {' and '.join(apart)}: choose a model that has them (dx2px models)."


def _translate(rows: Ragged, own: Vocabulary, target: Vocabulary) -> Ragged:
    """The rows' codes as indices of the target, without those that it lacks."""
    unknown = -1
    place = np.array([unknown if (i := target.get(code)) is None else i for code in own], dtype=np.int32)
    translated = Ragged(rows.offsets, place[rows.values])
    return translated.filtered(translated.values != unknown)


def _set_aside(before: Ragged, after: Ragged, own: Vocabulary, target: Vocabulary) -> SetAside:
    occurring = [own[index] for index in np.unique(before.values)]
    return SetAside(
        codes=len(occurring),
        codes_set_aside=sum(code not in target for code in occurring),
        entries=len(before.values),
        entries_set_aside=len(before.values) - len(after.values),
    )
