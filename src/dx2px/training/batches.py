"""Which stays form a batch. Every draw is a function of the seed and the epoch or step, never of a hidden state,
so a run taken up in the middle goes on exactly as it would have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort import Cohort
from dx2px.model.batch import Batch, Share, sample_negatives
from dx2px.ragged import Ragged

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Cut:
    """One of several equal stretches of each batch, for a process that learns together with others."""

    number: int = 0
    of: int = 1

    def rows(self, stays: int) -> Rows:
        """The places of its stays in a batch."""
        return np.arange(stays * self.number // self.of, stays * (self.number + 1) // self.of)


WHOLE = Cut()


class BatchSource(Protocol):
    """What an epoch is made of."""

    def __len__(self) -> int:
        """Steps of an epoch; the last batch may be smaller."""

    def epoch(self, epoch: int, start: int = 0, cut: Cut = WHOLE) -> Iterator[Batch]:
        """The batches of an epoch from step `start` on, or a cut of each."""


class Batches:
    """The training stays of a cohort, shuffled anew each epoch, with fresh negatives each step."""

    def __init__(self, cohort: Cohort, rows: Rows, size: int, seed: int) -> None:
        self.rows, self.size, self.seed = rows, size, seed
        self.diagnoses, self.procedures = cohort.diagnoses, cohort.procedures
        self.vocabulary = len(cohort.procedure_vocabulary)

    def __len__(self) -> int:
        return -(-len(self.rows) // self.size)

    def epoch(self, epoch: int, start: int = 0, cut: Cut = WHOLE) -> Iterator[Batch]:
        """The batches of an epoch from step `start` on, or a cut of each."""
        order = np.argsort(np.random.PCG64([self.seed, epoch]).random_raw(len(self.rows)), kind="stable")
        for step in range(start, len(self)):
            chosen = self.rows[order[step * self.size : (step + 1) * self.size]]
            draws = Draws(self.vocabulary, self.seed, epoch * len(self) + step)
            yield draws.batch(self.diagnoses.take(chosen), self.procedures.take(chosen), cut)


@dataclass(frozen=True)
class Draws:
    """All that is drawn for one step."""

    vocabulary: int  # procedures to draw negatives from
    seed: int
    step: int  # of the whole run

    def batch(self, diagnoses: Ragged, procedures: Ragged, cut: Cut) -> Batch:
        """A cut of the batch that these stays are."""
        if cut == WHOLE:
            return Batch(diagnoses, procedures, self._negatives(procedures, 0))
        own = cut.rows(len(diagnoses))
        first = len(diagnoses) * cut.number // cut.of
        positives = procedures.take(own)
        share = Share(first, diagnoses.lengths)
        return Batch(diagnoses.take(own), positives, self._negatives(positives, first), share)

    def _negatives(self, positives: Ragged, first: int) -> Ragged:
        return sample_negatives(positives, self.vocabulary, seed=self.seed, step=self.step, first=first)
