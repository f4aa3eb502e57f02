"""Every procedure that is to be explained beside each diagnosis of its stay, laid flat.

An attribution has one number a pair: how much of procedure p is put down to diagnosis d. Pairs stand procedure by
procedure, the diagnoses of the stay in the stay's order, which is the layout of a synthetic cohort's truth.

Axes: i stays, n diagnoses of all stays laid flat, e procedures to be explained, c pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dx2px.ragged import Offset, Ragged, offsets_of

Doubles = NDArray[np.float64]
Table = Callable[[Ragged], NDArray[np.floating]]  # of stays: a row a diagnosis entry, a column a procedure

_BLOCK = 128  # stays whose (n, p) table is held at a time


@dataclass(frozen=True, eq=False)
class Pairs:
    """The diagnoses of some stays, and the procedures to be explained by them."""

    diagnoses: Ragged
    procedures: Ragged

    @cached_property
    def stay(self) -> Offset:
        """The stay of each procedure, (e,)."""
        return self.procedures.row_of_entry

    @cached_property
    def widths(self) -> Offset:
        """How many diagnoses each procedure can be put down to, (e,)."""
        return self.diagnoses.lengths[self.stay]

    @cached_property
    def offsets(self) -> Offset:
        """Where the pairs of each procedure begin, (e + 1,)."""
        return offsets_of(self.widths)

    @cached_property
    def entry(self) -> Offset:
        """The procedure entry of each pair, (c,)."""
        return np.repeat(np.arange(len(self.widths)), self.widths)

    @cached_property
    def place(self) -> Offset:
        """The place of each pair's diagnosis in its stay, (c,)."""
        return np.arange(self.offsets[-1]) - self.offsets[self.entry]

    @cached_property
    def source(self) -> Offset:
        """The place of each pair's diagnosis in `diagnoses.values`, (c,)."""
        return self.diagnoses.offsets[self.stay[self.entry]] + self.place

    def pick(self, table: Table) -> Doubles:
        """The table's number for each pair; the table is made for some stays at a time."""
        out = np.empty(self.offsets[-1], np.float64)
        starts = self.diagnoses.offsets
        of_stay = offsets_of(self.diagnoses.lengths * self.procedures.lengths)
        target = self.procedures.values[self.entry]
        for first in range(0, len(self.diagnoses), _BLOCK):
            rows = np.arange(first, min(first + _BLOCK, len(self.diagnoses)))
            pairs = slice(of_stay[rows[0]], of_stay[rows[-1] + 1])
            found = table(self.diagnoses.take(rows))  # (n, p)
            out[pairs] = found[self.source[pairs] - starts[rows[0]], target[pairs]]
        return out  # (c,)

    def shares(self, positive: Doubles) -> Doubles:
        """Numbers scaled to sum to 1 for each procedure; where all are 0, shared evenly."""
        sums = np.repeat(np.add.reduceat(positive, self.offsets[:-1]), self.widths)
        even = 1 / np.repeat(self.widths, self.widths)
        found: Doubles = np.divide(positive, sums, out=even, where=sums > 0)
        return found  # (c,)

    def softmax(self, values: Doubles) -> Doubles:
        peaks = np.repeat(np.maximum.reduceat(values, self.offsets[:-1]), self.widths)
        return self.shares(np.exp(values - peaks))  # (c,)

    def order(self, values: Doubles) -> Offset:
        """The rank of each pair among those of its procedure, 0 for the highest; ties by place. (c,)"""
        order = np.lexsort((self.place, -values, self.entry))
        rank = np.empty(len(order), np.int64)
        rank[order] = self.place  # pairs of a procedure stand together, in the same stretch as before
        return rank

    def by_diagnosis(self) -> Offset:
        """Where each pair stands in plans laid flat stay by stay, a row a diagnosis. (c,)"""
        stay = self.stay[self.entry]
        begins = offsets_of(self.diagnoses.lengths * self.procedures.lengths)[stay]
        column = self.entry - self.procedures.offsets[stay]
        found: Offset = begins + self.place * self.procedures.lengths[stay] + column
        return found


def copies_without(diagnoses: Ragged) -> Ragged:
    """A stay for each diagnosis entry: its stay without it; a stay's only diagnosis is left in."""
    copies = diagnoses.take(diagnoses.row_of_entry)  # (n stays)
    own = copies.offsets[:-1] + places(diagnoses)
    kept = np.ones(len(copies.values), bool)
    kept[own[copies.lengths > 1]] = False
    lengths = copies.lengths - (copies.lengths > 1)
    return Ragged(offsets_of(lengths), copies.values[kept])


def copies_with(diagnoses: Ragged, shift: int) -> Ragged:
    """A stay for each diagnosis entry: its stay with that one code number raised by `shift`."""
    copies = diagnoses.take(diagnoses.row_of_entry)
    values = copies.values.copy()
    values[copies.offsets[:-1] + places(diagnoses)] += shift
    return Ragged(copies.offsets, values)


def places(rows: Ragged) -> Offset:
    """The place of each entry in its row."""
    return np.arange(len(rows.values)) - rows.offsets[rows.row_of_entry]
