"""The stays to learn from, in memory; `dx2px.training.streaming` has those of a file that is streamed."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort import Cohort, Vocabulary
from dx2px.cohort.fingerprint import fingerprint
from dx2px.scoring.cohort_evidence import known_of, layout_for
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.known import FACTS
from dx2px.training.batches import Batches, BatchSource, Rows

Counts = NDArray[np.int64]


class TrainingStays(Protocol):
    """What the training loop needs from its stays."""

    def __len__(self) -> int: ...

    @property
    def vocabularies(self) -> tuple[Vocabulary, Vocabulary]:
        """Of diagnoses and of procedures."""

    @property
    def counts(self) -> tuple[Counts, Counts]:
        """Training stays with each diagnosis and with each procedure."""

    def fingerprint(self) -> str:
        """A hash of the stays' codes and of which of them are learned from."""

    def layout(self) -> EvidenceLayout:
        """The rows of evidence that the training stays call for."""

    def row_counts(self, layout: EvidenceLayout) -> Counts:
        """Training stays that can show each row of evidence."""

    def subset(self, places: Rows) -> Cohort:
        """Some of the stays, by their places among these, in memory."""

    def batches(self, size: int, seed: int, layout: EvidenceLayout | None = None) -> BatchSource:
        """The batches of each epoch; with a layout, also what is known besides the diagnoses."""


class HeldStays:
    """Some rows of a cohort in memory."""

    def __init__(self, cohort: Cohort, rows: Rows) -> None:
        self.cohort, self.rows = cohort, rows

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def vocabularies(self) -> tuple[Vocabulary, Vocabulary]:
        """Of diagnoses and of procedures."""
        return self.cohort.diagnosis_vocabulary, self.cohort.procedure_vocabulary

    @cached_property
    def counts(self) -> tuple[Counts, Counts]:
        """Training stays with each diagnosis and with each procedure."""
        lists = self.cohort.diagnoses, self.cohort.procedures
        diagnoses, procedures = (
            rows.take(self.rows).counts(len(vocabulary))
            for rows, vocabulary in zip(lists, self.vocabularies, strict=True)
        )
        return diagnoses, procedures

    def fingerprint(self) -> str:
        """A hash of the stays' codes and of which of them are learned from."""
        return fingerprint(self.cohort, self.rows)

    def layout(self) -> EvidenceLayout:
        """The rows of evidence that the training stays call for."""
        return layout_for(self.cohort.subset(self.rows))

    def row_counts(self, layout: EvidenceLayout) -> Counts:
        """Training stays that can show each row of evidence."""
        return row_counts(self.cohort.subset(self.rows), layout)

    def subset(self, places: Rows) -> Cohort:
        """Some of the stays, by their places among these."""
        return self.cohort.subset(self.rows[places])

    def batches(self, size: int, seed: int, layout: EvidenceLayout | None = None) -> Batches:
        """The batches of each epoch, drawn from all rows."""
        known = None if layout is None else known_of(layout, self.cohort)
        return Batches(self.cohort, self.rows, size, seed, known)


def row_counts(stays: Cohort, layout: EvidenceLayout) -> Counts:
    """Stays that can show each row of evidence: any procedure may count as coded, any fact be withheld."""
    known = known_of(layout, stays).with_coded(stays.procedures)
    withheld = [known, *(known.without(np.array(FACTS) == name) for name in FACTS)]
    counts: Counts = np.max(
        [layout.rows(stays.diagnoses, one).counts(layout.size) for one in withheld], axis=0
    )
    return counts
