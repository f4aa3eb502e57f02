"""The codes of stays as they were coded, beside those that a model reads them as."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa

from dx2px.answers.lookup import Lookup
from dx2px.answers.mapping import Translate
from dx2px.answers.questions import Indices
from dx2px.errors import CodeError

_REMEMBERED = 200_000  # texts

Stay = TypeVar("Stay")


class CodedAs:
    """What texts mean; each is looked up once."""

    def __init__(self, lookup: Lookup, translate: Translate) -> None:
        self.lookup, self.translate = lookup, translate
        self._meanings: dict[str, tuple[str, tuple[str, ...]]] = {}

    def coded(self, lists: pa.Array, stays: Indices) -> list[list[str]]:
        """The canonical codes of some stays, each once, in their order."""
        return _each(lists, stays, lambda texts: list(dict.fromkeys(self._meaning(one)[0] for one in texts)))

    def usable(self, lists: pa.Array, stays: Indices) -> list[dict[str, str]]:
        """What the model uses of some stays, as `used` gives it."""
        return _each(lists, stays, self.used)

    def used(self, texts: Iterable[str]) -> dict[str, str]:
        """The codes that the model uses for a stay, in its order, each with the first that it was coded as."""
        found: dict[str, str] = {}
        for coded, read in map(self._meaning, texts):
            for code in read:
                found.setdefault(code, coded)
        return found

    def _meaning(self, text: str) -> tuple[str, tuple[str, ...]]:
        """The code as written, and what the model uses for it; a text that may mean several codes stays as it is."""
        if len(self._meanings) > _REMEMBERED:
            self._meanings.clear()
        if text not in self._meanings:
            self._meanings[text] = self._looked_up(text)
        return self._meanings[text]

    def _looked_up(self, text: str) -> tuple[str, tuple[str, ...]]:
        try:
            found = self.lookup.find(text)
        except CodeError:
            return text, ()
        mapped = self.translate(found.code)
        read = [found] if mapped is None else [self.lookup.find(code) for code in mapped.to]
        return self.lookup.written(text), tuple(one.code for one in read if one.status != "unknown")


def _each(lists: pa.Array, stays: Indices, of: Callable[[Sequence[str]], Stay]) -> list[Stay]:
    """Something of some stays; each stay is read once, however often it is among them."""
    distinct, place = np.unique(stays, return_inverse=True)
    texts = lists.take(pa.array(distinct)).to_pylist()
    found = [of([text for text in some or () if text is not None]) for some in texts]
    return [found[at] for at in place.tolist()]
