"""Lists of code indices of unequal length, stored as two flat arrays (the CSR layout)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int32]
Offset = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ragged:
    """Row i holds `values[offsets[i]:offsets[i + 1]]`."""

    offsets: Offset  # (rows + 1,)
    values: Index  # (entries,)

    @classmethod
    def from_lists(cls, rows: Iterable[Sequence[int]]) -> Ragged:
        """Build from Python lists, for tests and small inputs."""
        lists = [np.asarray(row, dtype=np.int32) for row in rows]
        lengths = np.array([len(row) for row in lists], dtype=np.int64)
        values = np.concatenate(lists) if lists else np.empty(0, np.int32)
        return cls(offsets_of(lengths), values)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Index:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ragged):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.values, other.values)

    @property
    def lengths(self) -> Offset:
        """Number of entries of each row."""
        return np.diff(self.offsets)

    @property
    def row_of_entry(self) -> Offset:
        """The row that each entry belongs to."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.lengths)

    def take(self, rows: NDArray[np.integer]) -> Ragged:
        """The given rows, in the given order."""
        lengths = self.lengths[rows]
        offsets = offsets_of(lengths)
        # Entry j of a taken row stands at (start of that row) + j in the flat array.
        shift = np.repeat(self.offsets[:-1][rows] - offsets[:-1], lengths)
        return Ragged(offsets, self.values[shift + np.arange(offsets[-1])])

    def counts(self, size: int) -> NDArray[np.int64]:
        """How often each index of 0 … size − 1 occurs; rows hold an index at most once, so: in how many rows."""
        return np.bincount(self.values, minlength=size).astype(np.int64)

    def has_repeats(self) -> bool:
        """Whether some row holds the same index twice."""
        if not len(self.values):
            return False
        keys = self.row_of_entry * (int(self.values.max()) + 1) + self.values
        keys.sort()
        return bool(np.any(keys[1:] == keys[:-1]))


def offsets_of(lengths: NDArray[np.integer]) -> Offset:
    """Row boundaries from row lengths."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
