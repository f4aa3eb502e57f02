"""Type-ahead search of the listed codes, by the start of the code or by the first letters of words in the title.

Each system's index is built once, when first searched. Titles are numbered from shortest to longest, and the postings
(word, title) are sorted by word. So all titles with a word that begins with the typed letters are one slice of the
postings, and even a single letter is answered in a few vectorised steps.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING

from dx2px.codes.catalogue import dictionary, under
from dx2px.codes.systems import System
from dx2px.codes.text import clean, dot_fits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A match by code ranks above every match by title. Titles rank by where the typed words are in them, then by length.
_EXACT_CODE, _CODE_PREFIX, _WORDS, _LETTERS_OF_CODE = 4.0, 3.0, 1.0, 0.5
_OPENING, _IN_ORDER, _WHOLE_WORDS = 0.5, 0.25, 0.125

_RANKED = (
    300  # rank at least this many matches in detail: those that open with the first word, then the shortest
)
_AFTER_LETTERS = "\U0010ffff"


@dataclass(frozen=True)
class Hit:
    """A code found by a query.

    Attributes:
        code: The canonical code.
        title: Its title.
        score: How well it matches; higher is better.
    """

    code: str
    title: str
    score: float


def find(
    query: str,
    systems: Iterable[System] | System | None = None,
    limit: int = 20,
    among: Collection[str] | None = None,
) -> list[Hit]:
    """The listed codes that match what has been typed so far, best first.

    A query matches a code that begins with it (`428`, `428.0`, `i50.2`), or a title in which each word of the
    query begins some word (`heart fail`).

    Args:
        query: What has been typed.
        systems: The system or systems to search; all four by default.
        limit: How many codes to return at most.
        among: Canonical codes to restrict the search to, such as a vocabulary.

    Returns:
        Code, title and score of each match.
    """
    chosen = [systems] if isinstance(systems, System) else list(systems if systems is not None else System)
    kept = among if among is None or isinstance(among, Set | Mapping) else frozenset(among)
    hits = [hit for system in chosen for hit in _find_in(query, system, max(limit, 0), kept)]
    return sorted(hits, key=lambda hit: -hit.score)[: max(limit, 0)]


def _find_in(query: str, system: System, limit: int, among: Collection[str] | None) -> list[Hit]:
    by_code = list(islice(_by_code(query, system, among), limit))
    known = {hit.code for hit in by_code}
    by_words = _by_words(query, system, among, 2 * limit)
    return by_code + [hit for hit in by_words if hit.code not in known]


def _by_code(query: str, system: System, among: Collection[str] | None) -> Iterator[Hit]:
    prefix, colon, typed = query.rpartition(":")
    bare = clean(typed)
    if (
        not bare
        or (colon and prefix.strip().lower() != system)
        or not dot_fits(typed.strip().upper(), system)
    ):
        return
    # Letters without a digit are more often the start of a word than of a code.
    score = _CODE_PREFIX if any(mark.isdigit() for mark in bare) else _LETTERS_OF_CODE
    for found in under(bare, system):
        code = f"{system}:{found}"
        if among is None or code in among:
            yield Hit(code, dictionary(system)[found], _EXACT_CODE if found == bare else score)


def _by_words(query: str, system: System, among: Collection[str] | None, limit: int) -> list[Hit]:
    words = _words(query)
    if not words:
        return []
    index = _index(system)
    hits = []
    for number in islice(index.matches(words, among), max(_RANKED, limit)):
        code = index.codes[number]
        text = dictionary(system)[code.partition(":")[2]]
        hits.append(Hit(code, text, _word_score(words, text)))
    return sorted(hits, key=lambda hit: -hit.score)[:limit]


def _word_score(typed: Sequence[str], title: str) -> float:
    words = _words(title)
    score = _WORDS + 1 / (10 + len(title))
    if len(words) >= len(typed) and all(map(str.startswith, words, typed)):
        score += _OPENING
    rest = iter(words)
    if all(any(word.startswith(start) for word in rest) for start in typed):
        score += _IN_ORDER
    if set(typed) <= set(words):
        score += _WHOLE_WORDS
    return score


def _words(text: str) -> list[str]:
    """Lower-case words without accents and apostrophes: `meniere` finds Ménière's, `crohns` finds Crohn's."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.findall("[0-9a-z]+", text.lower().replace("'", ""))


@dataclass(frozen=True)
class _Index:
    codes: Sequence[str]  # canonical, by title number
    words: Sequence[str]  # sorted
    starts: "NDArray[np.int64]"  # where each word's postings begin, then where the last word's end
    titles: "NDArray[np.int32]"  # postings: title numbers, by word
    openings: "NDArray[np.int32]"  # the first word of each title
    numbers: Mapping[str, int]  # title number of each code

    def matches(self, typed: Sequence[str], among: Collection[str] | None) -> Iterator[int]:
        """Numbers of the titles that match every typed word; first the titles that open with the first one."""
        import numpy as np

        found = self._allowed(among)
        for start in typed:
            first, last = self._range(start)
            holding = np.zeros(len(self.codes), dtype=bool)
            holding[self.titles[self.starts[first] : self.starts[last]]] = True
            found &= holding
        first, last = self._range(typed[0])
        opening = (self.openings >= first) & (self.openings < last)
        return chain(_numbers(found & opening), _numbers(found & ~opening))

    def _allowed(self, among: Collection[str] | None) -> "NDArray[np.bool_]":
        import numpy as np

        allowed = np.full(len(self.codes), among is None)
        if among is not None:
            allowed[[self.numbers[code] for code in among if code in self.numbers]] = True
        return allowed

    def _range(self, start: str) -> tuple[int, int]:
        return bisect_left(self.words, start), bisect_left(self.words, start + _AFTER_LETTERS)


def _numbers(mask: "NDArray[np.bool_]") -> Iterator[int]:
    return map(int, mask.nonzero()[0])


@cache
def _index(system: System) -> _Index:
    import numpy as np

    items = sorted(dictionary(system).items(), key=lambda item: (len(item[1]), item[0]))
    postings: dict[str, list[int]] = {}
    firsts = []
    for number, (_, title) in enumerate(items):
        words = _words(title)
        firsts.append(words[0])
        for word in set(words):
            postings.setdefault(word, []).append(number)
    vocabulary = sorted(postings)
    places = {word: place for place, word in enumerate(vocabulary)}
    codes = [f"{system}:{code}" for code, _ in items]
    return _Index(
        codes=codes,
        words=vocabulary,
        starts=np.cumsum([0, *(len(postings[word]) for word in vocabulary)], dtype=np.int64),
        titles=np.fromiter(chain.from_iterable(postings[word] for word in vocabulary), dtype=np.int32),
        openings=np.array([places[word] for word in firsts], dtype=np.int32),
        numbers={code: number for number, code in enumerate(codes)},
    )
