"""The words of all titles of a system, sorted, with the titles that hold each.

Titles are numbered from shortest to longest, and the postings (word, title) are sorted by word. So all titles with a
word that begins with the typed letters are one slice of the postings, and even a single letter is answered in a few
vectorised steps.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from dx2px.codes.catalogue import dictionary
from dx2px.codes.systems import System

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_AFTER_LETTERS = "\U0010ffff"


def words_of(text: str) -> list[str]:
    """Lower-case words without accents and apostrophes: `meniere` finds Ménière's, `crohns` finds Crohn's."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.findall("[0-9a-z]+", text.lower().replace("'", ""))


@dataclass(frozen=True, eq=False)
class WordIndex:
    """Titles by their words."""

    codes: Sequence[str]  # canonical, by title number
    words: Sequence[str]  # sorted
    starts: "NDArray[np.int64]"  # where each word's postings begin, then where the last word's end
    titles: "NDArray[np.int32]"  # postings: title numbers, by word
    openings: "NDArray[np.int32]"  # the first word of each title
    numbers: Mapping[str, int]  # title number of each code

    def matches(self, typed: Sequence[str], among: frozenset[str] | None) -> "NDArray[np.int64]":
        """Numbers of the titles that match every typed word; first the titles that open with the first one."""
        import numpy as np

        found = _allowed(self, among).copy()
        for start in typed:
            first, last = self.range_of(start)
            holding = np.zeros(len(self.codes), dtype=bool)
            holding[self.titles[self.starts[first] : self.starts[last]]] = True
            found &= holding
        first, last = self.range_of(typed[0])
        opening = (self.openings >= first) & (self.openings < last)
        return np.concatenate([np.flatnonzero(found & opening), np.flatnonzero(found & ~opening)])

    def range_of(self, start: str) -> tuple[int, int]:
        """The places of the words that begin with some letters."""
        return bisect_left(self.words, start), bisect_left(self.words, start + _AFTER_LETTERS)


@lru_cache(maxsize=16)  # a model's vocabulary is searched with every key
def _allowed(index: WordIndex, among: frozenset[str] | None) -> "NDArray[np.bool_]":
    import numpy as np

    allowed = np.full(len(index.codes), among is None)
    if among is not None:
        allowed[[index.numbers[code] for code in among if code in index.numbers]] = True
    return allowed


@cache
def index_of(system: System) -> WordIndex:
    """The index of a system, made when it is first searched."""
    import numpy as np

    items = sorted(dictionary(system).items(), key=lambda item: (len(item[1]), item[0]))
    postings: dict[str, list[int]] = {}
    firsts = []
    for number, (_, title) in enumerate(items):
        words = words_of(title)
        firsts.append(words[0])
        for word in set(words):
            postings.setdefault(word, []).append(number)
    vocabulary = sorted(postings)
    places = {word: place for place, word in enumerate(vocabulary)}
    codes = [f"{system}:{code}" for code, _ in items]
    return WordIndex(
        codes=codes,
        words=vocabulary,
        starts=np.cumsum([0, *(len(postings[word]) for word in vocabulary)], dtype=np.int64),
        titles=np.fromiter(chain.from_iterable(postings[word] for word in vocabulary), dtype=np.int32),
        openings=np.array([places[word] for word in firsts], dtype=np.int32),
        numbers={code: number for number, code in enumerate(codes)},
    )
