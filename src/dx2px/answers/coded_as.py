"""The codes of stays as they were coded, beside those that a model reads them as."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from dx2px.answers.lookup import Lookup
from dx2px.answers.mapping import Translate
from dx2px.answers.questions import Indices
from dx2px.codes import gives_way_to
from dx2px.errors import CodeError

_REMEMBERED = 200_000  # texts

Stay = TypeVar("Stay")


class _Meaning(NamedTuple):
    """The code that a text writes, what the model uses for it, and what of this may give way to other codes."""

    code: str
    used: tuple[str, ...] = ()
    implied: tuple[str, ...] = ()


class CodedAs:
    """What texts mean; each is looked up once."""

    def __init__(self, lookup: Lookup, translate: Translate) -> None:
        self.lookup, self.translate = lookup, translate
        self._meanings: dict[str, _Meaning] = {}

    def coded(self, lists: pa.Array, stays: Indices) -> list[list[str]]:
        """The canonical codes of some stays, each once, in their order."""
        return _each(
            lists, stays, lambda texts: list(dict.fromkeys(self._meaning(one).code for one in texts))
        )

    def usable(self, lists: pa.Array, stays: Indices) -> list[dict[str, str]]:
        """What the model uses of some stays, as `used` gives it."""
        return _each(lists, stays, self.used)

    def used(self, texts: Iterable[str]) -> dict[str, str]:
        """The codes that the model uses for a stay, in its order, each with the first that it was coded as."""
        found: dict[str, str] = {}
        meant: set[str] = set()
        for coded, read, implied in map(self._meaning, texts):
            meant.update(code for code in read if code not in implied)
            for code in read:
                found.setdefault(code, coded)
        gone = {code for code in found if code not in meant and gives_way_to(code) & meant}
        return {code: coded for code, coded in found.items() if code not in gone}

    def _meaning(self, text: str) -> _Meaning:
        """The meaning of a text; one that may mean several codes stays as it is."""
        if len(self._meanings) > _REMEMBERED:
            self._meanings.clear()
        if text not in self._meanings:
            self._meanings[text] = self._looked_up(text)
        return self._meanings[text]

    def _looked_up(self, text: str) -> _Meaning:
        try:
            found = self.lookup.find(text)
        except CodeError:
            return _Meaning(text)
        mapped = self.translate(found.code)
        read = [found] if mapped is None else [self.lookup.find(code) for code in mapped.to]
        used = tuple(one.code for one in read if one.status != "unknown")
        return _Meaning(self.lookup.written(text), used, mapped.implied if mapped else ())


def _each(lists: pa.Array, stays: Indices, of: Callable[[Sequence[str]], Stay]) -> list[Stay]:
    """Something of some stays; each stay is read once, however often it is among them."""
    distinct, place = np.unique(stays, return_inverse=True)
    texts = lists.take(pa.array(distinct)).to_pylist()
    found = [of([text for text in some or () if text is not None]) for some in texts]
    return [found[at] for at in place.tolist()]
