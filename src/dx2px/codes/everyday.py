"""Everyday words: `heart attack` for acute myocardial infarction, `C-section` for cesarean delivery.

The phrases and the headings they mean are a table of our own, `data/everyday_words.tsv`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from dx2px.codes.spelling import Spelling
from dx2px.codes.tables import rows
from dx2px.codes.word_index import words_of

_IGNORED = frozenset({"the", "of", "an", "my"})
_PLURAL = 3  # letters of a word whose last s may be a plural's, at least one more
_TELLING = 3  # letters of an unfinished last word, after others


@dataclass(frozen=True)
class Phrase:
    """What people say, and the codes and headings that it means, the likeliest first."""

    text: str
    words: tuple[str, ...]
    headings: tuple[str, ...]


def meant(typed: Sequence[str]) -> Phrase | None:
    """The phrase that these words are; its last word may be unfinished."""
    words = tuple(word for word in typed if word not in _IGNORED)
    if not words:
        return None
    singular = _singular(words)
    if whole := _phrases().get(singular):
        return whole
    begun = _begun().get(singular[:-1], ())
    return next((one for one in begun if _tells(words[-1], one)), None)


def _tells(last: str, phrase: Phrase) -> bool:
    """Whether an unfinished last word tells what is meant: most of a single word, a few letters after others."""
    word = phrase.words[-1]
    enough = 3 * len(last) >= 2 * len(word) if len(phrase.words) == 1 else len(last) >= _TELLING
    return enough and word.startswith(last)


def meant_in_spite_of_mistakes(typed: Sequence[str]) -> Phrase | None:
    """The phrase that these words are if typing mistakes are forgiven."""
    known = set(_spelling().words)
    words = [word if word in known else _spelling().nearest(word) or word for word in typed]
    return None if words == list(typed) else meant(words)


def _singular(words: Sequence[str]) -> tuple[str, ...]:
    """Stones as stone: what is one or many is the same here."""
    return tuple(word[:-1] if len(word) > _PLURAL and word[-1] == "s" != word[-2] else word for word in words)


@cache
def _begun() -> dict[tuple[str, ...], list[Phrase]]:
    """Phrases by all their words but the last."""
    found: dict[tuple[str, ...], list[Phrase]] = {}
    for words, phrase in _phrases().items():
        found.setdefault(words[:-1], []).append(phrase)
    return found


@cache
def _phrases() -> dict[tuple[str, ...], Phrase]:
    found = {}
    for texts, headings in rows("everyday_words"):
        for text in texts.split("; "):
            words = tuple(word for word in words_of(text) if word not in _IGNORED)
            found[_singular(words)] = Phrase(text, words, tuple(headings.split()))
    return found


@cache
def _spelling() -> Spelling:
    used = Counter(word for phrase in _phrases().values() for word in phrase.words)
    return Spelling(list(used), list(used.values()))
