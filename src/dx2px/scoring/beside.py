"""What coded procedures say about each other one, pair by pair: Σ_{r∈R} A_r·B_p, for the coded procedures R of a stay.

A_r·B_p is above 0 if p is likelier beside r than everything else about the stay says, and far below 0 if r excludes p.
It is used twice, each time with numbers of its own: for scores (`CodedLevels`, a part of `dx2px.scoring.coupling`), and
for what a finished stay lacks (`dx2px.scoring.rest`).

Axes: i stays, p procedures, f factors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dx2px.scoring.factor import Factor, Once
from dx2px.scoring.segments import Arrays, Floats
from dx2px.scoring.selection import Selection

Coded = tuple[NDArray[np.int64], NDArray[np.int64]]  # places of stays, and procedures
_BLOCK = 2048  # stays whose levels are in memory together


@dataclass(frozen=True, eq=False)
class Beside:
    """The pair terms."""

    A: Floats  # (p, f)
    B: Floats  # (p, f)
    once: bool = False  # it is of some procedures, for a single stay

    def narrowed(self, chosen: Selection) -> Beside:
        """Of some procedures, for a single stay; all that are coded must be among them."""
        return Beside(chosen.of(self.A), chosen.of(self.B), once=True)

    def __call__(self, coded: NDArray[Any]) -> Floats:
        """The sum of the module's text for each procedure, from what is coded, both (i, p).

        The same sums in the same order, whatever stays stand beside a stay.
        """
        found: Floats = coded.astype(np.float32) @ self._factor @ self._loadings
        return found

    @cached_property
    def _factor(self) -> Factor | Once:
        return Once(self.A.T) if self.once else Factor(self.A)

    @cached_property
    def _loadings(self) -> Factor | Once:
        return Once(self.B) if self.once else Factor(self.B.T)


@dataclass(frozen=True, eq=False)
class CodedLevels:
    """l_p = a_p + Σ_{r∈R} A_r·B_p: how the level of each procedure moves once some are coded."""

    a: Floats  # (p,)
    beside: Beside

    @classmethod
    def of(cls, arrays: Arrays) -> Self | None:
        """From a model's arrays; None if it has none of these."""
        if "beside_a" not in arrays:
            return None
        return cls(arrays["beside_a"], Beside(arrays["beside_A"], arrays["beside_B"]))

    @property
    def arrays(self) -> dict[str, Floats]:
        """As a model folder names them."""
        return {"beside_a": self.a, "beside_A": self.beside.A, "beside_B": self.beside.B}

    def narrowed(self, chosen: Selection) -> CodedLevels:
        """Of some procedures, for a single stay; all that are coded must be among them."""
        return CodedLevels(chosen.of(self.a), self.beside.narrowed(chosen))

    def add(self, heights: NDArray[Any], coded: Coded) -> None:
        """Add l to the heights of the procedures, (i, p), in place; a stay without a coded one stays as it is."""
        some, row = np.unique(coded[0], return_inverse=True)
        for start in range(0, len(some), _BLOCK):
            stays = some[start : start + _BLOCK]
            here = (row >= start) & (row < start + _BLOCK)
            marks = np.zeros((len(stays), len(self.a)), np.bool_)
            marks[row[here] - start, coded[1][here]] = True
            heights[stays] += self.beside(marks) + self.a
