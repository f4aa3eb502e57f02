"""One batch of Algorithm 1: the diagnoses and procedures of some stays, and the negatives drawn for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from dx2px.errors import InputError
from dx2px.methods.negatives import sample_negatives
from dx2px.ragged import Ragged
from dx2px.training.batch import Batch


@dataclass(frozen=True, eq=False)
class PaperBatch(Batch):
    """D_i, P_i⁺ and P_i⁻ of the same stays."""

    negatives: Ragged = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.negatives) != len(self):
            raise InputError(f"batch: {len(self)} stays have negatives for {len(self.negatives)}")

    @classmethod
    def of(cls, batch: Batch, procedures: int, seed: int) -> Self:
        """The batch with its negatives for this seed, drawn from a vocabulary of so many procedures."""
        negatives = sample_negatives(
            batch.procedures, procedures, seed=seed, step=batch.step, first=batch.first
        )
        return cls(batch.diagnoses, batch.procedures, batch.step, batch.share, negatives=negatives)
