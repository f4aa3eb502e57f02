"""Every procedure that is to be explained, paired with each diagnosis of its stay, laid flat.

An attribution has one number per pair: how much of procedure p comes from diagnosis d. Pairs are sorted by procedure,
then by the stay's order of diagnoses, which is the layout of a synthetic cohort's truth.

Axes: i stays, n diagnoses of all stays laid flat, e procedures to be explained, c pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dx2px.ragged import Offset, Ragged, offsets_of
from dx2px.scoring.segments import Doubles, even_shares

Table = Callable[
    [Ragged], NDArray[np.floating]
]  # of stays: one row per diagnosis entry, one column per procedure

_BLOCK = 128  # stays whose (n, p) table is in memory at a time


@dataclass(frozen=True, eq=False)
class Pairs:
    """The diagnoses of some stays, and the procedures to explain by them."""

    diagnoses: Ragged
    procedures: Ragged

    @cached_property
    def stay(self) -> Offset:
        """The stay of each procedure, (e,)."""
        return self.procedures.row_of_entry

    @cached_property
    def widths(self) -> Offset:
        """How many diagnoses the stay of each procedure has, (e,)."""
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
        """The number that a table has for each pair; the table is made for some stays at a time."""
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
        """Numbers scaled to sum to 1 for each procedure; if all are 0, equal shares."""
        return even_shares(positive, self.offsets)  # (c,)

    def softmax(self, values: Doubles) -> Doubles:
        peaks = np.repeat(np.maximum.reduceat(values, self.offsets[:-1]), self.widths)
        return self.shares(np.exp(values - peaks))  # (c,)

    def order(self, values: Doubles) -> Offset:
        """The rank of each pair among those of its procedure, 0 for the highest; ties by place. (c,)"""
        order = np.lexsort((self.place, -values, self.entry))
        rank = np.empty(len(order), np.int64)
        rank[order] = self.place  # sorting moves pairs only within their procedure
        return rank

    def by_diagnosis(self) -> Offset:
        """The place of each pair in plans laid flat stay by stay, one row per diagnosis. (c,)"""
        stay = self.stay[self.entry]
        begins = offsets_of(self.diagnoses.lengths * self.procedures.lengths)[stay]
        column = self.entry - self.procedures.offsets[stay]
        found: Offset = begins + self.place * self.procedures.lengths[stay] + column
        return found


def copies_with(diagnoses: Ragged, shift: int) -> Ragged:
    """One stay per diagnosis entry: its stay with that one code number raised by `shift`."""
    copies = diagnoses.take(diagnoses.row_of_entry)
    values = copies.values.copy()
    values[copies.offsets[:-1] + diagnoses.place_of_entry] += shift
    return Ragged(copies.offsets, values)
