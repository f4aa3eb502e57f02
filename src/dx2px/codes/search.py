"""Search of the listed codes as people type: by code, by words of the title, by everyday words, despite mistakes.

A code ranks by how well it fits what was typed and by how often it is used, if a `Usage` says so. Everyday words come
before words of titles. Typing mistakes are forgiven only where nothing fits what was typed.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import nlargest
from itertools import islice
from typing import TYPE_CHECKING

from dx2px.codes.catalogue import dictionary, under
from dx2px.codes.everyday import Phrase, meant, meant_in_spite_of_mistakes
from dx2px.codes.shown import shown_code
from dx2px.codes.spelling import spelling_of
from dx2px.codes.systems import System
from dx2px.codes.text import clean, dot_fits, split, text_only
from dx2px.codes.usage import Usage
from dx2px.codes.word_index import WordIndex, index_of, words_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A match by code ranks above every match by title. Titles rank by where the typed words are in them, then by length.
# How common a code is adds from 0 to 1: enough to outweigh that a rare code's title opens with the typed words.
_EXACT_CODE, _CODE_PREFIX, _EVERYDAY, _WORDS, _LETTERS_OF_CODE = 4.0, 3.0, 2.0, 1.0, 0.5
_OPENING, _IN_ORDER, _WHOLE_WORDS = 0.5, 0.25, 0.125
_LATER = 0.3  # less for what words seldom mean: an injury's later encounters, sequelae, open fractures
_NEXT_HEADING = 0.1  # less for each heading of an everyday phrase after the first

# Injuries, poisonings, external causes and fractures by disease: the seventh character of these is the encounter.
_ENCOUNTERS = tuple(f"{System.ICD10CM}:{start}" for start in ("M80", "M84", *"STVWXY"))
_SEVEN = len(f"{System.ICD10CM}:") + 7

_RANKED = (
    300  # matches that are ranked in detail: those that open with the first word, the shortest, the most used
)


@dataclass(frozen=True)
class Hit:
    """A code found by a query.

    Attributes:
        code: The canonical code.
        title: Its title.
        score: How well it matches; higher is better.
        read_as: What the query was read as, if it was everyday words or had a typing mistake; else empty.
    """

    code: str
    title: str
    score: float
    read_as: str = ""

    def __repr__(self) -> str:
        return f"Hit({shown_code(self.code)} {self.title})"


def find(
    query: str,
    systems: Iterable[System] | System | None = None,
    limit: int = 20,
    among: Collection[str] | None = None,
    usage: Usage | None = None,
    forgive: bool = True,
) -> list[Hit]:
    """The listed codes that match what has been typed so far, best first.

    A query matches a code that begins with it (`428`, `428.0`, `i50.2`), a title in which each word of the query begins
    some word (`heart fail`), or what everyday words mean (`heart attack`). If nothing fits, typing mistakes are
    forgiven (`diabetis`).

    Args:
        query: What has been typed.
        systems: The system or systems to search; all four by default.
        limit: How many codes to return at most.
        among: Canonical codes to restrict the search to, such as a vocabulary.
        usage: How often codes are used; common ones come first.
        forgive: Whether to forgive typing mistakes if nothing fits.

    Returns:
        Code, title and score of each match.
    """
    chosen = [systems] if isinstance(systems, System) else list(systems if systems is not None else System)
    kept = None if among is None else frozenset(among)  # the same object if it is one already
    search = _Search(max(limit, 0), kept, usage)
    words = words_of(text_only(query))
    hits = [hit for system in chosen for hit in search.by_code_and_words(query, words, system)]
    if not hits and words and forgive:
        hits = search.despite_mistakes(words, chosen)
    ranked = sorted(hits, key=lambda hit: -hit.score)
    return ranked[: search.limit] if usage is None else _with_every_version(ranked, search.limit)


def _with_every_version(ranked: Sequence[Hit], limit: int) -> list[Hit]:
    """The best hits, with a quarter of the places for each ICD version: stays are counted in one of them only."""
    versions: dict[int, list[Hit]] = {}
    for hit in ranked:
        versions.setdefault(split(hit.code)[0].version, []).append(hit)
    kept = [hit for some in versions.values() for hit in some[: limit // 4]]
    rest = [hit for hit in ranked if hit not in kept]
    return sorted([*kept, *rest][:limit], key=lambda hit: -hit.score)


@dataclass(frozen=True)
class _Search:
    limit: int
    among: frozenset[str] | None
    usage: Usage | None

    def by_code_and_words(self, query: str, words: Sequence[str], system: System) -> list[Hit]:
        """What fits exactly, each code once."""
        found = list(islice(self._by_code(query, system), self.limit))
        if phrase := meant(words):
            found += self._everyday(phrase, system)
        if words:
            found += self._by_words(words, system, 2 * self.limit)
        best: dict[str, Hit] = {}
        for hit in found:
            if hit.code not in best or hit.score > best[hit.code].score:
                best[hit.code] = hit
        return list(best.values())

    def despite_mistakes(self, words: Sequence[str], systems: Iterable[System]) -> list[Hit]:
        """What fits after typing mistakes are corrected, the same way in all systems if possible."""
        if phrase := meant_in_spite_of_mistakes(words):
            return [hit for system in systems for hit in self._everyday(phrase, system)]
        hits = []
        for system in systems:
            for corrected in _corrections(words, system):
                if found := self._by_words(corrected, system, 2 * self.limit):
                    hits += [replace(hit, read_as=" ".join(corrected)) for hit in found]
                    break
        return hits

    def _by_code(self, query: str, system: System) -> Iterator[Hit]:
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
            if self._allows(code):
                yield Hit(code, dictionary(system)[found], _EXACT_CODE if found == bare else score)

    def _everyday(self, phrase: Phrase, system: System) -> list[Hit]:
        """The codes under the headings that a phrase means, each under the first of them."""
        hits: dict[str, Hit] = {}
        own = [bare for owner, bare in map(split, phrase.headings) if owner is system]
        for place, bare in enumerate(own):
            base = _EVERYDAY - _NEXT_HEADING * place
            for found in under(bare, system):
                code, text = f"{system}:{found}", dictionary(system)[found]
                if code not in hits and self._allows(code) and not _is_later(code):
                    hits[code] = Hit(code, text, base + _brevity(text) + self._common(code), phrase.text)
        return nlargest(2 * self.limit, hits.values(), key=lambda hit: hit.score)

    def _by_words(self, words: Sequence[str], system: System, limit: int) -> list[Hit]:
        index = index_of(system)
        hits = []
        for number in self._ranked(index.matches(words, self.among), system, max(_RANKED, limit)):
            code = index.codes[number]
            text = dictionary(system)[code.partition(":")[2]]
            later = _LATER if _is_later(code) else 0.0
            hits.append(Hit(code, text, _word_score(words, text) + self._common(code) - later))
        return nlargest(limit, hits, key=lambda hit: hit.score)

    def _ranked(self, numbers: "NDArray[np.int64]", system: System, most: int) -> list[int]:
        """The first matches, and the most used."""
        first: list[int] = numbers[:most].tolist()
        if self.usage is None or len(numbers) <= most:
            return first
        common = numbers[(-self.usage.of_titles(system)[numbers]).argsort(kind="stable")[:most]]
        return list(dict.fromkeys((*first, *common.tolist())))

    def _common(self, code: str) -> float:
        return 0.0 if self.usage is None else self.usage(code)

    def _allows(self, code: str) -> bool:
        return self.among is None or code in self.among


def _corrections(words: Sequence[str], system: System) -> Iterator[list[str]]:
    """The words with those corrected that no title has; then, each alone, with the others corrected as well."""
    index, spelling = index_of(system), spelling_of(system)
    fixed = [word if _begins_some(word, index) else spelling.nearest(word) or word for word in words]
    if fixed != list(words):
        yield fixed
    for place, word in enumerate(fixed):
        if word == words[place] and (other := spelling.nearest(word)):
            yield [*fixed[:place], other, *fixed[place + 1 :]]


def _is_later(code: str) -> bool:
    """Whether an ICD-10-CM code is of an injury's later encounter, its sequela or an open fracture."""
    return len(code) == _SEVEN and code.startswith(_ENCOUNTERS) and code[-1] != "A"


def _begins_some(word: str, index: WordIndex) -> bool:
    first, last = index.range_of(word)
    return first < last


def _word_score(typed: Sequence[str], title: str) -> float:
    words = _title_words(title)
    score = _WORDS + _brevity(title)
    if len(words) >= len(typed) and all(map(str.startswith, words, typed)):
        score += _OPENING
    rest = iter(words)
    if all(any(word.startswith(start) for word in rest) for start in typed):
        score += _IN_ORDER
    if set(typed) <= set(words):
        score += _WHOLE_WORDS
    return score


@lru_cache(maxsize=20_000)
def _title_words(title: str) -> list[str]:
    return words_of(title)


def _brevity(title: str) -> float:
    """Shorter titles come first among equals."""
    return 1 / (10 + len(title))
