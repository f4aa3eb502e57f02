"""Alternatives: two procedures of which a stay has one, hardly ever both, such as open and closed reduction.

Each of the two may be probable; both together are not. So their probabilities must not add up to more than 1: where
they do, both are divided by their sum. With several alternatives, a procedure is divided by the largest of these sums;
then no pair adds up to more than 1. `dx2px.training.fit_alternatives` finds the pairs in the training stays.

Axes: i stays, p procedures, l procedures asked for, n pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.scoring.segments import Doubles
from dx2px.scoring.selection import Selection


class Alternatives:
    """Pairs of procedures that exclude each other."""

    def __init__(self, pairs: Sequence[Sequence[int]] | NDArray[np.int64] = ()) -> None:
        self.pairs = np.array(pairs, np.int64).reshape(-1, 2)

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def columns(self) -> NDArray[np.int64]:
        """The procedures that have an alternative, in their order."""
        return np.unique(self.pairs)

    def limited(
        self, p: Doubles, places: NDArray[np.int64] | None = None, among: Doubles | None = None
    ) -> Doubles:
        """Probabilities of which no pair of alternatives adds up to more than 1.

        Args:
            p: Of all procedures, (i, p), or of those at `places`, (i, l).
            places: The procedures asked for.
            among: Of `columns`; needed with `places`.
        """
        among = p[:, self.columns] if among is None else among
        one, other, starts = self._both_ways
        sums = np.maximum(np.maximum.reduceat(among[:, one] + among[:, other], starts, axis=1), 1.0)
        if places is None:
            found = p.copy()
            found[:, self.columns] /= sums
            return found
        at = np.minimum(np.searchsorted(self.columns, places), len(self.columns) - 1)
        divisors: Doubles = np.where(self.columns[at] == places, np.take_along_axis(sums, at, axis=1), 1.0)
        return p / divisors

    def narrowed(self, chosen: Selection) -> Alternatives:
        """The pairs of which both procedures are chosen, as their places."""
        if not len(self):
            return self
        pairs = chosen.places(self.pairs)
        return Alternatives(pairs[(pairs >= 0).all(axis=1)])

    def beside(self, procedures: Sequence[int]) -> set[int]:
        """What some procedures exclude, but for themselves."""
        partners = (self._partners[one] for one in procedures if one in self._partners)
        return set[int]().union(*partners) - set(procedures)

    def divisor(self, procedure: int, p: Mapping[int, float]) -> float:
        """What `limited` divides a procedure's probability by, from its own and those of what it excludes."""
        return max([1.0, *(p[procedure] + p[other] for other in self._partners.get(procedure, ()))])

    def groups(self, procedures: Sequence[int]) -> list[tuple[int, ...]]:
        """Those of some procedures that exclude each other, pair by pair; each is in one group at most.

        A group begins with the first procedure that has an alternative among the others.
        """
        found: list[tuple[int, ...]] = []
        left = [one for one in dict.fromkeys(procedures) if one in self._partners]
        while left:
            group = [left.pop(0)]
            for other in left:
                if all(other in self._partners[one] for one in group):
                    group.append(other)
            left = [one for one in left if one not in group]
            if len(group) > 1:
                found.append(tuple(group))
        return found

    def to_list(self) -> list[list[int]]:
        """As a model folder keeps them."""
        kept: list[list[int]] = self.pairs.tolist()
        return kept

    @classmethod
    def from_list(cls, record: Any, procedures: int) -> Alternatives:
        """From what `to_list` returned; a ValueError if it is not valid."""
        if not isinstance(record, list) or not all(_is_pair(pair, procedures) for pair in record):
            raise ValueError("the alternatives must be pairs of procedures")
        return cls(record)

    @cached_property
    def _both_ways(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Each pair from both sides, as places of `columns`, by the first; and where each column's pairs begin."""
        pairs = np.searchsorted(self.columns, np.concatenate([self.pairs, self.pairs[:, ::-1]]))
        one, other = pairs[np.argsort(pairs[:, 0], kind="stable")].T
        return one, other, np.searchsorted(one, np.arange(len(self.columns)))

    @cached_property
    def _partners(self) -> dict[int, set[int]]:
        """What each procedure excludes."""
        found: dict[int, set[int]] = {}
        for first, second in self.pairs.tolist():
            found.setdefault(first, set()).add(second)
            found.setdefault(second, set()).add(first)
        return found


def _is_pair(pair: Any, procedures: int) -> bool:
    whole = isinstance(pair, list) and len(pair) == 2 and all(type(place) is int for place in pair)
    return whole and 0 <= pair[0] < pair[1] < procedures
