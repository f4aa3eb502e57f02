"""How large a set a threshold leaves, under several readings of how it was made. Nothing is written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort import Cohort
from dx2px.cohort.vocabulary import Vocabulary
from dx2px.ragged import Ragged, offsets_of


@dataclass(frozen=True)
class SetSize:
    """Numbers of a set, in the order in which the paper prints them."""

    stays: int
    diagnoses: int
    procedures: int

    def __str__(self) -> str:
        return f"{self.stays:,} · {self.diagnoses:,} · {self.procedures:,}"

    def off(self, other: SetSize) -> float:
        """The largest relative difference of the three numbers."""
        pairs = zip(self.numbers, other.numbers, strict=True)
        return max(abs(mine - theirs) / max(theirs, 1) for mine, theirs in pairs)

    @property
    def numbers(self) -> tuple[int, int, int]:
        """Stays, diagnoses, procedures."""
        return self.stays, self.diagnoses, self.procedures


def size_of(cohort: Cohort) -> SetSize:
    """The numbers of a cohort as it is."""
    return SetSize(len(cohort), len(cohort.diagnosis_vocabulary), len(cohort.procedure_vocabulary))


def readings(cohort: Cohort, min_count: int) -> dict[str, SetSize]:
    """The set that each reading leaves of a cohort with all its codes."""
    dx, px = cohort.diagnoses, cohort.procedures
    numbers = as_numbers(px, cohort.procedure_vocabulary)
    found = {
        "codes as text, one pass": set_size(dx, px, min_count),
        "codes as text, repeated": set_size(dx, px, min_count, repeat=True),
        "procedures as numbers, one pass": set_size(dx, numbers, min_count),
        "procedures as numbers, repeated": set_size(dx, numbers, min_count, repeat=True),
    }
    if cohort.patient_ids is not None:
        first = first_stays(cohort)
        found["one stay per patient, codes as text, one pass"] = set_size(
            dx.take(first), px.take(first), min_count
        )
    return found


def set_size(diagnoses: Ragged, procedures: Ragged, min_count: int, repeat: bool = False) -> SetSize:
    """Count codes over the stays, keep the frequent ones, drop the stays this empties; again until nothing changes."""
    kinds = (diagnoses, procedures)
    alive = np.ones(len(diagnoses), bool)
    kept = [np.ones(len(kind.values), bool) for kind in kinds]
    while True:
        kept = [here & _frequent(kind, here, min_count) for kind, here in zip(kinds, kept, strict=True)]
        left = alive.copy()
        for kind, here in zip(kinds, kept, strict=True):
            left &= np.bincount(kind.row_of_entry[here], minlength=len(alive)) > 0
        kept = [here & left[kind.row_of_entry] for kind, here in zip(kinds, kept, strict=True)]
        if not repeat or (left == alive).all():
            codes = (len(np.unique(kind.values[here])) for kind, here in zip(kinds, kept, strict=True))
            return SetSize(int(left.sum()), *codes)
        alive = left


def as_numbers(procedures: Ragged, vocabulary: Vocabulary) -> Ragged:
    """The procedures as a reader of numbers sees them: 00.17 is 17, and 03.31 is the same as 33.1."""
    numbers = np.array([int(code.partition(":")[2]) for code in vocabulary.codes], np.int64)
    pairs = np.unique(np.stack([procedures.row_of_entry, numbers[procedures.values]]), axis=1)
    return Ragged(offsets_of(np.bincount(pairs[0], minlength=len(procedures))), pairs[1].astype(np.int32))


def first_stays(cohort: Cohort) -> NDArray[np.int64]:
    """One stay of each patient, the first in the file; stays of unknown patients are their own."""
    assert cohort.patient_ids is not None
    names = [
        f"stay {row}" if one is None else f"patient {one}"
        for row, one in enumerate(cohort.patient_ids.to_pylist())
    ]
    return np.sort(np.unique(names, return_index=True)[1])


def _frequent(kind: Ragged, here: NDArray[np.bool_], min_count: int) -> NDArray[np.bool_]:
    """Whether each entry's code has enough stays among the entries that are left."""
    counts = np.bincount(kind.values[here], minlength=int(kind.values.max(initial=0)) + 1)
    return np.asarray(counts[kind.values] >= min_count)
