"""How often codes are used, such as in the stays that a model learned from: what a search lists first."""

from collections.abc import Mapping
from functools import cached_property
from math import log1p
from typing import TYPE_CHECKING

from dx2px.codes.systems import System
from dx2px.codes.word_index import index_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NOT_KNOWN = 0.2  # of a code whose system nobody counted: between rare and common


class Usage:
    """Stays with each code, and from 0 to 1 how common a code is, by the logarithm of its stays."""

    def __init__(self, stays: Mapping[str, int]) -> None:
        self.stays = stays
        self._most = log1p(max(stays.values(), default=0)) or 1.0
        self._titles: dict[System, NDArray[np.float64]] = {}

    def __call__(self, code: str) -> float:
        """How common a code is."""
        if code.partition(":")[0] not in self.systems:
            return _NOT_KNOWN
        return log1p(self.stays.get(code, 0)) / self._most

    @cached_property
    def systems(self) -> frozenset[str]:
        """The systems whose codes were counted."""
        return frozenset(code.partition(":")[0] for code in self.stays)

    def of_titles(self, system: System) -> "NDArray[np.float64]":
        """How common the codes of a system are, by title number."""
        import numpy as np

        if system not in self._titles:
            self._titles[system] = np.array([self(code) for code in index_of(system).codes])
        return self._titles[system]
