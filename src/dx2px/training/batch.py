"""One batch: the diagnoses and procedures of some stays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import InputError
from dx2px.ragged import Ragged


@dataclass(frozen=True, eq=False)
class Share:
    """The place of these stays in a larger batch that several processes learn from together.

    Random draws are made as if for the whole batch, so that they do not depend on how it is cut.
    """

    first: int  # position of the first of these stays in the whole batch
    lengths: NDArray[np.int64]  # number of diagnoses of every stay in the whole batch


@dataclass(frozen=True, eq=False)
class Batch:
    """The stays of one step. Their random draws are a function of the method's seed, `step` and their positions."""

    diagnoses: Ragged
    procedures: Ragged
    step: int = 0  # counted from 0 over the whole run
    share: Share | None = None  # None: this is the whole batch

    def __post_init__(self) -> None:
        sizes = len(self.diagnoses), len(self.procedures)
        if sizes[0] != sizes[1]:
            raise InputError(
                f"batch: {sizes[0]} stays have diagnoses and {sizes[1]} have procedures, must be equal"
            )
        empty = int((self.diagnoses.lengths == 0).sum() + (self.procedures.lengths == 0).sum())
        if empty:
            raise InputError(
                f"batch: {empty} rows are empty, but every stay needs at least one diagnosis and one procedure"
            )

    def __len__(self) -> int:
        return len(self.diagnoses)

    @property
    def first(self) -> int:
        """The position of the first stay in the whole batch."""
        return 0 if self.share is None else self.share.first
