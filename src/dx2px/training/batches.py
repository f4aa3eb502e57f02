"""Which stays form a batch. Every draw is a function of the seed and the epoch or step, never of a hidden state,
so a run taken up in the middle goes on exactly as it would have."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort import Cohort
from dx2px.model.batch import Batch, sample_negatives

Rows = NDArray[np.int64]


class Batches:
    """The training stays of a cohort, shuffled anew each epoch, with fresh negatives each step."""

    def __init__(self, cohort: Cohort, rows: Rows, size: int, seed: int) -> None:
        self.rows, self.size, self.seed = rows, size, seed
        self.diagnoses, self.procedures = cohort.diagnoses, cohort.procedures
        self.vocabulary = len(cohort.procedure_vocabulary)

    def __len__(self) -> int:
        """Steps of an epoch; the last batch may be smaller."""
        return -(-len(self.rows) // self.size)

    def epoch(self, epoch: int, start: int = 0) -> Iterator[Batch]:
        """The batches of an epoch from step `start` on."""
        order = np.argsort(np.random.PCG64([self.seed, epoch]).random_raw(len(self.rows)), kind="stable")
        for step in range(start, len(self)):
            chosen = self.rows[order[step * self.size : (step + 1) * self.size]]
            positives = self.procedures.take(chosen)
            number = epoch * len(self) + step
            negatives = sample_negatives(positives, self.vocabulary, seed=self.seed, step=number)
            yield Batch(self.diagnoses.take(chosen), positives, negatives)
