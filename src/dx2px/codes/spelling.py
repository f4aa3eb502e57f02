"""Typing mistakes: the words nearest to one that no title has.

Words that share most of their trigrams with the typed one are few; among these the number of mistakes decides (letters
added, lost, changed or swapped). The typed word may be unfinished, so it is compared with the beginnings of words.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from dx2px.codes.systems import System
from dx2px.codes.word_index import index_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COMPARED = 25  # words that share the most trigrams
_REMEMBERED = 1000  # typed words
_SHORTEST, _LONG = 4, 7  # letters from which one mistake, and two, are forgiven


class Spelling:
    """Finds the words of a vocabulary that were probably meant."""

    def __init__(self, words: Sequence[str], common: Sequence[int]) -> None:
        """`common` says how often each word is used: of words that are equally near, the most common is meant."""
        import numpy as np

        self.words, self.common = words, common
        postings: dict[str, list[int]] = {}
        for place, word in enumerate(words):
            for piece in _trigrams(word):
                postings.setdefault(piece, []).append(place)
        self._known: dict[str, str | None] = {}  # whoever types asks about the same words with every key
        self._postings = {piece: np.array(places, np.int32) for piece, places in postings.items()}

    def nearest(self, typed: str) -> str | None:
        """The word that was meant; None if none is near, or the typed one is too short to tell."""
        if typed not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[typed] = self._nearest(typed)
        return self._known[typed]

    def _nearest(self, typed: str) -> str | None:
        allowed = 0 if len(typed) < _SHORTEST else 1 if len(typed) < _LONG else 2
        found = [
            (mistakes, -self.common[place], abs(len(self.words[place]) - len(typed)), self.words[place])
            for place in (self._candidates(typed) if allowed and typed.isalpha() else ())
            if allowed > 1 or self.words[place][0] == typed[0]  # a first letter is seldom wrong
            if 0 < (mistakes := mistakes_in(typed, self.words[place])) <= allowed
        ]
        return min(found)[-1] if found else None

    def _candidates(self, typed: str) -> "Iterable[int]":
        import numpy as np

        pieces = [self._postings[piece] for piece in _trigrams(typed) if piece in self._postings]
        if not pieces:
            return []
        shared: NDArray[np.int64] = np.bincount(np.concatenate(pieces), minlength=len(self.words))
        most = min(_COMPARED, len(shared))
        best = np.argpartition(-shared, most - 1)[:most]
        return [int(place) for place in best if shared[place] > 1]


def mistakes_in(typed: str, word: str) -> int:
    """The fewest letters added, lost, changed or swapped that make the beginning of a word into what was typed."""
    before: list[int] = []
    row = list(range(len(word) + 1))
    for i, letter in enumerate(typed, 1):
        further = [i]
        for j, other in enumerate(word, 1):
            fewest = min(row[j] + 1, further[-1] + 1, row[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == word[j - 2] and typed[i - 2] == other:
                fewest = min(fewest, before[j - 2] + 1)
            further.append(fewest)
        before, row = row, further
    return min(row)


@cache
def spelling_of(system: System) -> Spelling:
    """The spelling of a system's titles, made at the first typing mistake."""
    index = index_of(system)
    return Spelling(index.words, (index.starts[1:] - index.starts[:-1]).tolist())


def _trigrams(word: str) -> set[str]:
    """Pieces of three letters; the first two also count alone, the last ones not, for they may be unfinished."""
    padded = f"  {word}"
    return {padded[place : place + 3] for place in range(len(padded) - 2)}
