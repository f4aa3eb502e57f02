"""Stays as sets of codes: cohorts, vocabularies, splits, summaries, sources and synthetic cohorts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dx2px.cohort.accounting import Counts, Prepared
from dx2px.cohort.cohort import Cohort
from dx2px.cohort.file import CohortFile, CohortWriter, beside
from dx2px.cohort.splits import Split, SplitBy, split_cohort, split_stream
from dx2px.cohort.stream import CohortStream
from dx2px.cohort.summary import KindSummary, Summary, describe
from dx2px.cohort.vocabulary import Vocabulary
from dx2px.ragged import Ragged

if TYPE_CHECKING:
    from dx2px.cohort.preparation import prepare

__all__ = [
    "Cohort",
    "CohortFile",
    "CohortStream",
    "CohortWriter",
    "Counts",
    "KindSummary",
    "Prepared",
    "Ragged",
    "Split",
    "SplitBy",
    "Summary",
    "Vocabulary",
    "beside",
    "describe",
    "prepare",
    "split_cohort",
    "split_stream",
]


def __getattr__(name: str) -> Any:
    # Preparing needs Ibis, which the core installation lacks; everything else here does not.
    if name == "prepare":
        from dx2px.cohort.preparation import prepare

        return prepare
    raise AttributeError(f"module 'dx2px.cohort' has no attribute {name!r}")
