"""Which stays form a batch.

Every draw is a function of the seed and the epoch, without hidden state, so a resumed run continues exactly as an
uninterrupted one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort import Cohort
from dx2px.ragged import Ragged
from dx2px.scoring.known import Known
from dx2px.training.batch import Batch, Share

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Cut:
    """One of several equal, consecutive parts of each batch, for one of several processes."""

    number: int = 0
    of: int = 1

    def rows(self, stays: int) -> Rows:
        """The positions of its stays in a batch."""
        return np.arange(stays * self.number // self.of, stays * (self.number + 1) // self.of)


WHOLE = Cut()


class BatchSource(Protocol):
    """The batches of every epoch."""

    def __len__(self) -> int:
        """The number of steps in an epoch; the last batch may be smaller."""

    def epoch(self, epoch: int, start: int = 0, cut: Cut = WHOLE) -> Iterator[Batch]:
        """The batches of an epoch from step `start` on, or this cut of each."""


class Batches:
    """The training stays of a cohort, shuffled again each epoch; `known` is about all stays of the cohort."""

    def __init__(self, cohort: Cohort, rows: Rows, size: int, seed: int, known: Known | None = None) -> None:
        self.rows, self.size, self.seed, self.known = rows, size, seed, known
        self.diagnoses, self.procedures = cohort.diagnoses, cohort.procedures

    def __len__(self) -> int:
        return -(-len(self.rows) // self.size)

    def epoch(self, epoch: int, start: int = 0, cut: Cut = WHOLE) -> Iterator[Batch]:
        """The batches of an epoch from step `start` on, or this cut of each."""
        order = np.argsort(np.random.PCG64([self.seed, epoch]).random_raw(len(self.rows)), kind="stable")
        for step in range(start, len(self)):
            chosen = self.rows[order[step * self.size : (step + 1) * self.size]]
            known = None if self.known is None else self.known.take(chosen)
            stays = self.diagnoses.take(chosen), self.procedures.take(chosen), known
            yield cut_batch(*stays, epoch * len(self) + step, cut)


def cut_batch(diagnoses: Ragged, procedures: Ragged, known: Known | None, step: int, cut: Cut) -> Batch:
    """A cut of the batch of these stays; `step` counts over the whole run."""
    whole = Batch(diagnoses, procedures, step, known=known)
    if cut == WHOLE:
        return whole
    own = cut.rows(len(whole))
    share = Share(len(whole) * cut.number // cut.of, whole)
    return Batch(
        diagnoses.take(own), procedures.take(own), step, share, None if known is None else known.take(own)
    )
