"""One batch: the diagnoses and procedures of some stays, and what else is known about them."""

from __future__ import annotations

from dataclasses import dataclass

from dx2px.errors import InputError
from dx2px.ragged import Ragged
from dx2px.scoring.known import Known


@dataclass(frozen=True, eq=False)
class Share:
    """The place of these stays in a larger batch that several processes learn from together.

    Random draws are made as if for the whole batch, so that they do not depend on how it is cut.
    """

    first: int  # position of the first of these stays in the whole batch
    whole: Batch


@dataclass(frozen=True, eq=False)
class Batch:
    """The stays of one step. Their random draws are a function of the method's seed, `step` and their positions."""

    diagnoses: Ragged
    procedures: Ragged
    step: int = 0  # counted from 0 over the whole run
    share: Share | None = None  # None: this is the whole batch
    known: Known | None = None  # besides the diagnoses, for a method that takes more evidence

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

    @property
    def whole(self) -> Batch:
        """The batch that these stays are a share of."""
        return self if self.share is None else self.share.whole
