"""A cohort in numbers: counts, codes per stay, most frequent codes, histograms by number of codes, what is known."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.codes import dotted, title
from dx2px.cohort.cohort import Cohort, check_cohort
from dx2px.cohort.context import CONTEXT
from dx2px.cohort.vocabulary import Vocabulary
from dx2px.ragged import Ragged


@dataclass(frozen=True)
class CodeCount:
    """A code and the number of stays that have it.

    Attributes:
        code: The canonical code.
        shown: The code as people write it.
        title: Its title.
        stays: Number of stays with it.
        share: Share of all stays, from 0 to 1.
    """

    code: str
    shown: str
    title: str
    stays: int
    share: float


@dataclass(frozen=True)
class KindSummary:
    """One kind of code in a cohort.

    Attributes:
        codes: Number of distinct codes.
        entries: Number of codes over all stays.
        mean: Mean number of codes per stay.
        median: Median number of codes per stay.
        most: Largest number of codes of one stay.
        rarest: Number of stays with the rarest code.
        histogram: `histogram[n]` is the number of stays with n codes.
        frequent: The most frequent codes, most frequent first.
    """

    codes: int
    entries: int
    mean: float
    median: float
    most: int
    rarest: int
    histogram: tuple[int, ...]
    frequent: tuple[CodeCount, ...]


@dataclass(frozen=True)
class Summary:
    """What `dx2px describe` shows.

    Attributes:
        stays: Number of stays.
        patients: Number of patients; None if the source does not identify them.
        diagnoses: The diagnoses in numbers.
        procedures: The procedures in numbers.
        source: The source that the cohort was prepared from, if known.
        settings: The settings of the preparation.
        known: For `principal`, `age`, `sex` and `admission`, the number of stays for which it is known.
    """

    stays: int
    patients: int | None
    diagnoses: KindSummary
    procedures: KindSummary
    source: str | None
    settings: dict[str, Any]
    known: dict[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)


def describe(cohort: Cohort, top: int = 10) -> Summary:
    """Summarise a cohort: counts, codes per stay, the most frequent codes.

    Args:
        cohort: The cohort.
        top: How many of the most frequent codes of each kind to list.

    Returns:
        The summary; `to_dict` gives it as plain data.
    """
    check_cohort(cohort)
    patients = cohort.patient_ids
    return Summary(
        stays=len(cohort),
        patients=None if patients is None else len(patients.drop_null().unique()),
        diagnoses=_kind(cohort.diagnoses, cohort.diagnosis_vocabulary, cohort.diagnosis_counts, top),
        procedures=_kind(cohort.procedures, cohort.procedure_vocabulary, cohort.procedure_counts, top),
        known={name: _known(cohort, name) for name in CONTEXT.names},
        source=cohort.provenance.get("source"),
        settings=dict(cohort.provenance.get("settings", {})),
    )


def _known(cohort: Cohort, name: str) -> int:
    if cohort.context is None or name not in cohort.context.column_names:
        return 0
    return len(cohort) - int(cohort.context.column(name).null_count)


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
