"""One procedure removed from every stay with at least two, to be found again from the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import InputError
from dx2px.ragged import Ragged


@dataclass(frozen=True, eq=False)
class Removal:
    """The stays that a procedure was removed from, what they still show, and what was removed."""

    rows: NDArray[np.int64]  # (i,)
    shown: Ragged
    removed: NDArray[np.int32]  # (i,)

    @classmethod
    def draw(cls, procedures: Ragged, seed: int) -> Removal:
        """One procedure at random of each stay with at least two."""
        rows = np.flatnonzero(procedures.lengths >= 2)
        if not len(rows):
            raise InputError("No stay has two procedures, so none can be removed and looked for.")
        several = procedures.take(rows)
        place = np.floor(np.random.default_rng(seed).random(len(rows)) * several.lengths).astype(np.int64)
        is_removed = several.place_of_entry == place[several.row_of_entry]
        return cls(rows, several.filtered(~is_removed), several.values[is_removed])
