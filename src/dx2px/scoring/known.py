"""What is known about stays besides their diagnoses, as numbers.

Axes: i stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.ragged import Ragged, joined

Numbers = NDArray[np.int32]

FACTS = ("principal", "age", "sex", "admission")  # the columns of a cohort that are evidence
UNKNOWN = -1  # a number that is not known
OTHER = -2  # a principal diagnosis that is known to be none of the model's


@dataclass(frozen=True, eq=False)
class Known:
    """What is known about each of some stays.

    Attributes:
        facts: A column each for the principal diagnosis, the age band, the sex and the type of admission, as numbers;
            `UNKNOWN` where one is not known, `OTHER` for a principal diagnosis that is none of the model's.
        coded: The procedures that are coded already.
    """

    facts: Numbers  # (i, 4)
    coded: Ragged

    @classmethod
    def of(cls, facts: Mapping[str, Numbers], stays: int) -> Known:
        """From some of the facts, by name; no procedure counts as coded."""
        unknown = np.full(stays, UNKNOWN, np.int32)
        columns = np.stack([facts.get(name, unknown) for name in FACTS], axis=1)
        return cls(columns, Ragged(np.zeros(stays + 1, np.int64), unknown[:0]))

    @classmethod
    def nothing(cls, stays: int) -> Known:
        """No evidence besides the diagnoses."""
        return cls.of({}, stays)

    @classmethod
    def joined(cls, parts: Sequence[Known]) -> Known:
        """The stays of all parts, one after the other."""
        return cls(np.concatenate([part.facts for part in parts]), joined([part.coded for part in parts]))

    def take(self, rows: NDArray[np.integer]) -> Known:
        """The given stays, in the given order."""
        return Known(self.facts[rows], self.coded.take(rows))

    def without(self, hidden: NDArray[np.bool_]) -> Known:
        """With the facts unknown that are marked, (i, 4)."""
        return Known(np.where(hidden, np.int32(UNKNOWN), self.facts), self.coded)

    def with_coded(self, coded: Ragged) -> Known:
        """With these procedures coded already."""
        return Known(self.facts, coded)
