"""Where the codes of an adapted model start: each from codes that its base has learned.

A code that the base has learned starts as the base has it. Another one starts as the mean of those that stand in for
it, weighted by their stays: a diagnosis of the other ICD version as its equivalents in the public maps, an ICD-10-PCS
code as the family that holds it, any other code as its siblings under the nearest heading (`dx2px.scoring.back_off`). A
code without any relative starts as the mean of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dx2px.codes import Kind, System, holds, is_family, nearest, split
from dx2px.scoring.back_off import BackOff
from dx2px.scoring.folder import ModelFiles

Sort = Literal["known", "mapped", "siblings", "none"]
_Found = tuple[Sort, tuple[int, ...]]


@dataclass(frozen=True)
class Origins:
    """For each code, the base's codes whose mean it starts as, and how they were found."""

    members: tuple[tuple[int, ...], ...]
    sorts: tuple[Sort, ...]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether the base has learned the code itself."""
        return np.array([sort == "known" for sort in self.sorts], bool)

    def counts(self, codes: Sequence[int]) -> dict[str, int]:
        """How many of some codes the base knows, how many others stand in for, and how many have no relative."""
        sorts = [self.sorts[index] for index in codes]
        known, lost = sorts.count("known"), sorts.count("none")
        return {"codes": len(sorts), "known": known, "stood_in": len(sorts) - known - lost, "lost": lost}


def origins(base: ModelFiles, codes: Sequence[str], kind: Kind) -> Origins:
    """Where codes start, given what the base has learned."""
    finder = _Finder(BackOff(base, kind))
    found = [finder.find(code) for code in codes]
    return Origins(
        tuple(members or finder.everyone for _, members in found), tuple(sort for sort, _ in found)
    )


class _Finder:
    """Finds the base's codes that a code starts from."""

    def __init__(self, back_off: BackOff) -> None:
        self.back_off = back_off
        self.place = {code: index for index, code in enumerate(back_off.codes) if back_off.learned(index)}

    @property
    def everyone(self) -> tuple[int, ...]:
        """All that the base has learned."""
        return tuple(self.place.values())

    def find(self, code: str) -> _Found:
        """How the code is found, and where it starts; nowhere if it has no relative."""
        if code in self.place:
            return "known", (self.place[code],)
        mapped = self._mapped(code)
        if mapped:
            return "mapped", mapped
        siblings = self.back_off.siblings(code)
        return ("none", ()) if siblings is None else ("siblings", siblings.members)

    def _mapped(self, code: str) -> tuple[int, ...]:
        """The equivalents of a diagnosis of the other version, or the families that hold a procedure."""
        system = split(code)[0]
        if system is System.ICD10PCS:
            return tuple(self.place[one] for one in self._families if holds(code, one))
        if self.back_off.kind == "procedure" or system in self._systems:
            return ()
        entry = nearest(code)
        chosen = () if entry is None else entry.choose(self._weight)
        found = (self.find(one)[1] for one in chosen if split(one)[0] in self._systems)
        return tuple(dict.fromkeys(index for members in found for index in members))

    def _weight(self, code: str) -> float:
        """Of alternatives, the one with the most stays is taken."""
        return float(self.back_off.weights[self.place[code]]) if code in self.place else 0.0

    @cached_property
    def _systems(self) -> set[System]:
        return {split(code)[0] for code in self.place}

    @cached_property
    def _families(self) -> list[str]:
        return [code for code in self.place if is_family(code)]
