"""What may be told about a shown stay besides its codes.

Age and sex can single out a person whose diagnoses are known. So a shown stay is explained with what else is known of
it only if at least `SMALLEST` measured stays share all of that, down to the principal diagnosis. Otherwise it is
explained with its principal diagnosis alone, if that many stays share it, or else from its codes.

Axes: i stays.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dx2px.answers.facts import Facts
from dx2px.cohort import Cohort
from dx2px.scoring.cohort_evidence import known_of
from dx2px.scoring.evidence import SEXES, EvidenceLayout
from dx2px.scoring.known import FACTS, UNKNOWN
from dx2px.scoring.subgroups import SMALLEST

RULE = (
    "A stay is explained with its principal diagnosis, age band, sex and type of admission if at least "
    f"{SMALLEST} measured stays share all of them; otherwise with its principal diagnosis alone, if as many stays "
    "share that; otherwise from its codes."
)
CHOICES = (FACTS, ("principal",))  # from the most that may be told to the least


def shown_facts(layout: EvidenceLayout | None, stays: Cohort, rows: Sequence[int]) -> list[Facts]:
    """What may be told about each of some stays of the measured ones."""
    if layout is None:
        return [Facts() for _ in rows]
    facts = _listed(known_of(layout, stays).facts, stays)  # (i, 4)
    return [_facts(layout, stays, _told(facts, row)) for row in rows]


def _listed(facts: NDArray[np.int32], stays: Cohort) -> NDArray[np.int32]:
    """With the principal diagnosis only where it is among the stay's diagnoses, so that no other code is shown."""
    principal = facts[:, 0]
    same = stays.diagnoses.values == principal[stays.diagnoses.row_of_entry]
    held = np.bincount(stays.diagnoses.row_of_entry[same], minlength=len(stays)) > 0
    listed = facts.copy()
    listed[~held, 0] = UNKNOWN
    return listed


def _told(facts: NDArray[np.int32], row: int) -> NDArray[np.int32]:
    """The facts of a stay; those that may not be told are `UNKNOWN`."""
    told = np.full(len(FACTS), UNKNOWN, np.int32)
    for choice in CHOICES:
        places = [FACTS.index(name) for name in choice]
        if np.count_nonzero((facts[:, places] == facts[row, places]).all(axis=1)) >= SMALLEST:
            told[places] = facts[row, places]
            break
    return told


def _facts(layout: EvidenceLayout, stays: Cohort, told: NDArray[np.int32]) -> Facts:
    """As a question has them; an age is the first year of its band."""
    principal, age, sex, admission = told.tolist()
    found = Facts()
    if principal != UNKNOWN:
        found["principal"] = stays.diagnosis_vocabulary[principal]
    if age != UNKNOWN:
        found["age"] = layout.ages[age]
    if sex != UNKNOWN:
        found["sex"] = SEXES[sex]
    if admission != UNKNOWN:
        found["admission"] = layout.admissions[admission]
    return found
