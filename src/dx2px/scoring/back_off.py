"""Codes that a model has not seen: the known codes under the nearest heading stand in for them.

An unknown diagnosis gets the mean of the rows of its known siblings, weighted by the number of training stays with
each: those under its own subcategory or, if there are none, its category, then its chapter. This is done for every
array that has an axis of diagnoses (the method's declaration says which), so it works for every method. A code of the
vocabulary that no training stay had is treated like an unknown one: the model learned nothing about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dx2px.codes import Kind, ancestors
from dx2px.errors import CodeError
from dx2px.scoring.folder import ModelFiles
from dx2px.scoring.methods import METHODS


@dataclass(frozen=True)
class Siblings:
    """The known codes under a heading, as indices of the vocabulary."""

    heading: str
    members: tuple[int, ...]


class BackOff:
    """Finds who can stand in for a diagnosis of a model, or for a procedure."""

    def __init__(self, files: ModelFiles, kind: Kind = "diagnosis") -> None:
        self.files, self.kind = files, kind
        own = {
            "diagnosis": (files.diagnoses, files.diagnosis_counts),
            "procedure": (files.procedures, files.procedure_counts),
        }
        self.codes, counts = own[kind]
        self.weights = np.ones(len(self.codes)) if counts is None else np.array(counts, np.float64)

    def siblings(self, code: str) -> Siblings | None:
        """The learned codes under the nearest heading of a canonical code that has any."""
        try:
            headings = (code, *ancestors(code))
        except CodeError:  # what was typed is not a code
            return None
        return next((Siblings(h, self.under[h]) for h in headings if h in self.under), None)

    def learned(self, index: int) -> bool:
        """Whether some training stay had the code; True if the model does not say."""
        return bool(self.weights[index] > 0)

    def rows(self, codes: Sequence[str], members: Sequence[Sequence[int]]) -> ModelFiles:
        """The model with only these codes of the kind, each the weighted mean of the rows of its members."""
        layout = METHODS[self.files.method].all_arrays
        arrays = {
            name: self._means(array, layout[name].index(self.kind), members)
            if self.kind in layout[name]
            else array
            for name, array in self.files.arrays.items()
        }
        if self.kind == "procedure":
            return replace(self.files, procedures=tuple(codes), arrays=arrays, procedure_counts=None)
        return replace(self.files, diagnoses=tuple(codes), arrays=arrays, diagnosis_counts=None)

    def extended(self, codes: Sequence[str]) -> ModelFiles:
        """The model with one more row for each of these codes that is not in its vocabulary but has siblings."""
        own = self.codes
        known = set(own)
        found = {code: siblings for code in codes if code not in known and (siblings := self.siblings(code))}
        members = [(index,) for index in range(len(own))] + [one.members for one in found.values()]
        return self.rows([*own, *found], members)

    def _means(
        self, array: NDArray[np.float32], axis: int, members: Sequence[Sequence[int]]
    ) -> NDArray[np.float32]:
        source = np.moveaxis(array, axis, 0)
        means = np.empty((len(members), *source.shape[1:]), np.float32)
        for place, indices in enumerate(members):
            chosen = list(indices)
            if len(chosen) == 1:
                means[place] = source[chosen[0]]
            else:
                shares = self.weights[chosen] / self.weights[chosen].sum()
                means[place] = np.tensordot(shares, source[chosen], axes=1)
        return np.ascontiguousarray(np.moveaxis(means, 0, axis))

    @cached_property
    def under(self) -> Mapping[str, tuple[int, ...]]:
        """The learned codes under each heading; a heading that is a learned code itself is included."""
        under: dict[str, list[int]] = {}
        for index, code in enumerate(self.codes):
            if self.learned(index):
                for heading in (code, *ancestors(code)):
                    under.setdefault(heading, []).append(index)
        return {heading: tuple(members) for heading, members in under.items()}
