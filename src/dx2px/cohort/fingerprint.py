"""A hash of a cohort's codes, by which a model recognises the cohort it learned from. It covers no identifiers."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort.cohort import Cohort
from dx2px.cohort.file import CODE_LISTS
from dx2px.cohort.stream import CohortStream


def fingerprint(cohort: Cohort, *rows: NDArray[Any]) -> str:
    """A hash of the stays' codes, and of any `rows` given, such as the parts of a split."""
    digest = hashlib.sha256()
    for vocabulary in (cohort.diagnosis_vocabulary, cohort.procedure_vocabulary):
        digest.update("\n".join(vocabulary).encode())
    for lists in (cohort.diagnoses, cohort.procedures):
        digest.update(lists.offsets.tobytes())
        digest.update(lists.values.tobytes())
    for part in rows:
        digest.update(np.ascontiguousarray(part, dtype=np.int64).tobytes())
    return digest.hexdigest()


def stream_fingerprint(stream: CohortStream) -> str:
    """The same hash for a cohort that is not in memory; the file is read twice per kind of code."""
    digest = hashlib.sha256()
    for vocabulary in (stream.diagnosis_vocabulary, stream.procedure_vocabulary):
        digest.update("\n".join(vocabulary).encode())
    for name in CODE_LISTS:
        # All offsets come before all values, as in memory: hence two passes, the first counting up the offsets.
        end = np.zeros(1, np.int64)
        digest.update(end.tobytes())
        for lists in stream.groups(name):
            digest.update((lists.offsets[1:] + end).tobytes())
            end += lists.offsets[-1]
        for lists in stream.groups(name):
            digest.update(lists.values.tobytes())
    return digest.hexdigest()
