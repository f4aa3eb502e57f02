"""The codes of one kind in a fixed order: a code's place in it is its index everywhere else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dx2px.codes import category
from dx2px.errors import CohortError


class Vocabulary:
    """Distinct canonical codes in a fixed order. A code's place in it is its index everywhere else.

    Args:
        codes: The codes, each once. `Vocabulary.sorted` removes repetitions and sorts by text, as cohorts do.

    Attributes:
        codes: The codes, in order.

    Raises:
        CohortError: A code is repeated.
    """

    def __init__(self, codes: Iterable[str]) -> None:
        self.codes = tuple(codes)
        if len(self._index) != len(self.codes):
            raise CohortError("A vocabulary cannot hold the same code twice.")

    @classmethod
    def sorted(cls, codes: Iterable[str]) -> Vocabulary:
        """The distinct codes, ordered by their canonical text.

        Args:
            codes: The codes; repetitions are dropped.
        """
        return cls(sorted(set(codes)))

    @cached_property
    def _index(self) -> dict[str, int]:
        return {code: index for index, code in enumerate(self.codes)}

    def index(self, code: str) -> int:
        """The code's index.

        Args:
            code: A canonical code.

        Raises:
            KeyError: The code is not in the vocabulary.
        """
        return self._index[code]

    def get(self, code: str) -> int | None:
        """The code's index, or None if it is not in the vocabulary.

        Args:
            code: A canonical code.
        """
        return self._index.get(code)

    @cached_property
    def categories(self) -> NDArray[np.int64]:
        """The ICD category of each code, numbered in the order of first occurrence."""
        numbers: dict[str, int] = {}
        return np.array([numbers.setdefault(category(code), len(numbers)) for code in self.codes], np.int64)

    def __contains__(self, code: object) -> bool:
        return code in self._index

    def __getitem__(self, index: int) -> str:
        return self.codes[index]

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[str]:
        return iter(self.codes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.codes == other.codes

    def __hash__(self) -> int:
        return hash(self.codes)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} codes)"
