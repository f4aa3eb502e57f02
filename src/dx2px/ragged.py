"""Lists of code indices of unequal length, stored as two flat arrays (the CSR layout).

Everything that handles many stays uses this form, so that nothing is padded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dx2px.errors import InputError

Index = NDArray[np.int32]
Offset = NDArray[np.int64]
BLOCK = 65_536  # rows checked for repeats at a time


@dataclass(frozen=True, eq=False)
class Ragged:
    """Row i holds `values[offsets[i]:offsets[i + 1]]`."""

    offsets: Offset  # (rows + 1,)
    values: Index  # (entries,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", np.ascontiguousarray(self.offsets, dtype=np.int64))
        object.__setattr__(self, "values", np.ascontiguousarray(self.values, dtype=np.int32))
        if self.offsets.ndim != 1 or len(self.offsets) == 0 or self.offsets[0] != 0:
            raise InputError("Ragged rows: offsets must be one-dimensional and start at 0.")
        if self.offsets[-1] != len(self.values):
            raise InputError(
                f"Ragged rows: offsets end at {self.offsets[-1]} but there are {len(self.values)} values."
            )

    @classmethod
    def from_lists(cls, rows: Iterable[Sequence[int] | Index]) -> Ragged:
        """Build from Python lists, for tests and small inputs."""
        lists = [np.asarray(row, dtype=np.int32) for row in rows]
        lengths = np.array([len(row) for row in lists], dtype=np.int64)
        values = np.concatenate(lists) if lists else np.empty(0, np.int32)
        return cls(offsets_of(lengths), values)

    @classmethod
    def of_one(cls, row: Sequence[int]) -> Ragged:
        """A single row."""
        return cls(np.array([0, len(row)], np.int64), np.array(row, np.int32))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Index:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ragged):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.values, other.values)

    @cached_property
    def lengths(self) -> Offset:
        """Number of entries of each row."""
        return np.diff(self.offsets)

    @property
    def row_of_entry(self) -> Offset:
        """The row that each entry belongs to."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.lengths)

    def take(self, rows: ArrayLike) -> Ragged:
        """The given rows, in the given order; a row may be taken more than once."""
        chosen = np.asarray(rows, dtype=np.int64)
        lengths = self.offsets[chosen + 1] - self.offsets[chosen]
        offsets = offsets_of(lengths)
        # Entry j of a taken row stands at (start of that row) + j in the flat array.
        shift = np.repeat(self.offsets[chosen] - offsets[:-1], lengths)
        return Ragged(offsets, self.values[shift + np.arange(offsets[-1])])

    def blocks(self, size: int) -> Iterator[Ragged]:
        """Consecutive rows, `size` at a time; if they fit in one block, this very object."""
        if 0 < len(self) <= size:
            yield self
            return
        for start in range(0, len(self), size):
            offsets = self.offsets[start : start + size + 1]
            yield Ragged(offsets - offsets[0], self.values[offsets[0] : offsets[-1]])

    def counts(self, size: int) -> NDArray[np.int64]:
        """In how many rows each index of 0 … size − 1 occurs; a row has an index at most once."""
        return np.bincount(self.values, minlength=size).astype(np.int64)

    def indicator(self, size: int) -> NDArray[np.bool_]:
        """True where a row holds an index, (rows, size)."""
        found = np.zeros((len(self), size), np.bool_)
        found[self.row_of_entry, self.values] = True
        return found

    def filtered(self, keep: NDArray[np.bool_]) -> Ragged:
        """Only the entries marked in `keep`, one mark per entry; rows may become empty."""
        if keep.all():
            return self
        return Ragged(
            offsets_of(np.bincount(self.row_of_entry[keep], minlength=len(self))), self.values[keep]
        )

    def copies_without(self) -> Ragged:
        """One row per entry: the entry's row without it. A row with a single entry keeps it."""
        copies = self.take(self.row_of_entry)
        keep = np.ones(len(copies.values), np.bool_)
        keep[(copies.offsets[:-1] + self.place_of_entry)[copies.lengths > 1]] = False
        return copies.filtered(keep)

    def each_left_out(self) -> Ragged:
        """One row per entry: the entry's row without it, which may be empty."""
        copies = self.take(self.row_of_entry)
        keep = np.ones(len(copies.values), np.bool_)
        keep[copies.offsets[:-1] + self.place_of_entry] = False
        return copies.filtered(keep)

    @property
    def place_of_entry(self) -> Offset:
        """The place of each entry in its row, from 0."""
        return np.arange(len(self.values)) - np.repeat(self.offsets[:-1], self.lengths)

    def has_repeats(self) -> bool:
        """Whether some row holds the same index twice."""
        # Some rows at a time: the keys of all entries at once would take several times the memory of the rows.
        return any(_repeats(block) for block in self.blocks(BLOCK))


def _repeats(rows: Ragged) -> bool:
    if not len(rows.values):
        return False
    keys = rows.row_of_entry * (int(rows.values.max()) + 1) + rows.values
    keys.sort()
    return bool(np.any(keys[1:] == keys[:-1]))


def offsets_of(lengths: NDArray[np.integer]) -> Offset:
    """Row boundaries from row lengths."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def joined(parts: Sequence[Ragged]) -> Ragged:
    """The rows of all parts, one after the other."""
    lengths = np.concatenate([part.lengths for part in parts])
    return Ragged(offsets_of(lengths), np.concatenate([part.values for part in parts]))


def side_by_side(first: Ragged, second: Ragged) -> Ragged:
    """Each row of the first, followed by that row of the second."""
    row = np.concatenate([first.row_of_entry, second.row_of_entry])
    order = np.argsort(row, kind="stable")
    values = np.concatenate([first.values, second.values])[order]
    return Ragged(offsets_of(first.lengths + second.lengths), values)
