"""A cohort in numbers: counts, codes per stay, most frequent codes, histograms of stays by number of codes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.codes import dotted, title
from dx2px.cohort.cohort import Cohort
from dx2px.cohort.vocabulary import Vocabulary
from dx2px.ragged import Ragged


@dataclass(frozen=True)
class CodeCount:
    """A code and the number of stays that have it."""

    code: str
    shown: str
    title: str
    stays: int
    share: float


@dataclass(frozen=True)
class KindSummary:
    """One kind of code in a cohort; `histogram[n]` is the number of stays with n codes of this kind."""

    codes: int
    entries: int
    mean: float
    median: float
    most: int
    rarest: int  # the number of stays with the rarest code
    histogram: tuple[int, ...]
    frequent: tuple[CodeCount, ...]


@dataclass(frozen=True)
class Summary:
    """What `dx2px describe` shows."""

    stays: int
    patients: int | None
    diagnoses: KindSummary
    procedures: KindSummary
    source: str | None
    settings: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)


def describe(cohort: Cohort, top: int = 10) -> Summary:
    """Summarise a cohort, with the `top` most frequent codes of each kind."""
    patients = cohort.patient_ids
    return Summary(
        stays=len(cohort),
        patients=None if patients is None else len(patients.drop_null().unique()),
        diagnoses=_kind(cohort.diagnoses, cohort.diagnosis_vocabulary, cohort.diagnosis_counts, top),
        procedures=_kind(cohort.procedures, cohort.procedure_vocabulary, cohort.procedure_counts, top),
        source=cohort.provenance.get("source"),
        settings=dict(cohort.provenance.get("settings", {})),
    )


def _kind(lists: Ragged, vocabulary: Vocabulary, counts: NDArray[np.int64], top: int) -> KindSummary:
    lengths = lists.lengths
    order = np.argsort(-counts, kind="stable")[:top]
    return KindSummary(
        codes=len(vocabulary),
        entries=len(lists.values),
        mean=float(lengths.mean()) if len(lengths) else 0.0,
        median=float(np.median(lengths)) if len(lengths) else 0.0,
        most=int(lengths.max(initial=0)),
        rarest=int(counts.min()) if len(counts) else 0,
        histogram=tuple(np.bincount(lengths).tolist()),
        frequent=tuple(_count(vocabulary[i], int(counts[i]), len(lists)) for i in order),
    )


def _count(code: str, stays: int, of: int) -> CodeCount:
    return CodeCount(code, dotted(code), title(code).text, stays, stays / of if of else 0.0)
