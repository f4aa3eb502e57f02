"""What a user probably meant by a text that is not a code the model can use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dx2px.answers.remarks import Remark
from dx2px.codes import Hit, Kind, System, is_listed, normalize, resolve, shown_code, split, title
from dx2px.codes.spelling import mistakes_in
from dx2px.codes.word_index import words_of
from dx2px.errors import CodeError
from dx2px.words import shortened

if TYPE_CHECKING:
    from dx2px.answers.model import Model

SUGGESTED = 3  # codes named beside the best one
LONGEST = 60  # characters of their titles
TOO_MANY = 2  # characters after a code, at most, that may be a slip


@dataclass(frozen=True)
class Reading:
    """Words read as a code, and the other codes that they may mean."""

    words: str
    taken: Hit
    others: tuple[Hit, ...]

    @property
    def sentence(self) -> str:
        """What was taken for what."""
        titles = [hit.title for hit in self.others]
        rest = "; ".join(
            f"{shown_code(hit.code)} {shortened(hit.title, LONGEST, titles)}" for hit in self.others
        )
        end = "" if rest.endswith("…") else "."
        more = f" It may also be {rest}{end}" if rest else ""
        return f"Read {self.words!r} as {shown_code(self.taken.code)} {self.taken.title}.{more}"


def read_words(model: Model, texts: list[str]) -> tuple[list[str], list[Reading]]:
    """Codes as they were typed; words next to each other as the diagnosis that they most probably mean.

    Words that mean no diagnosis stay as they are. A comma ends a phrase.
    """
    codes: list[str] = []
    readings: list[Reading] = []
    for part in " ".join(texts).split(","):
        for phrase in _phrases(part.split()):
            hits = [] if _is_code(phrase[0]) else _meanings(model, " ".join(phrase))
            codes += [hits[0].code] if hits else phrase
            if hits:
                readings.append(Reading(" ".join(phrase), hits[0], tuple(hits[1:])))
    return codes, readings


def advice(model: Model, text: str, kind: Kind = "diagnosis") -> Remark | None:
    """A remark on a text that the model cannot use as a code of this kind; None if nothing comes to mind."""
    other: Kind = "procedure" if kind == "diagnosis" else "diagnosis"
    if (found := _code_of(text, other)) and not _code_of(text, kind):
        return Remark(text, f"{shown_code(found)} is a {other} ({title(found).text}), not a {kind}.")
    if shorter := _listed_beginning(text, kind):
        asked = f"did you mean {shown_code(shorter)} {title(shorter).text}?"
        return Remark(text, f"{shown_code(text)} is in no list of codes: {asked}", shorter)
    if _is_code(text):
        return None
    hits = _meanings(model, text, kind)
    if not hits:
        return None
    return Remark(text, f"{text!r}: did you mean {shown_code(hits[0].code)} {hits[0].title}?", hits[0].code)


def _listed_beginning(text: str, kind: Kind) -> str | None:
    """The listed code that an unlisted one begins with: 585.6 for 585.66."""
    if _code_of(text, kind):
        return None
    shorter = (text[:-more] for more in range(1, TOO_MANY + 1))
    return next((code for one in shorter if (code := _code_of(one, kind))), None)


def _meanings(model: Model, text: str, kind: Kind = "diagnosis") -> list[Hit]:
    """The codes that words surely mean: whole words of title or everyday phrase, with one mistake in each at most.

    Only those of the model's own systems: words need no translation.
    """
    typed = words_of(text)
    systems = (model.diagnoses if kind == "diagnosis" else model.procedures).systems
    hits = [hit for hit in model.find(text, kind, 2 * (1 + SUGGESTED)) if split(hit.code)[0] in systems]
    return [hit for hit in hits if _surely(typed, hit)][: 1 + SUGGESTED]


def _surely(typed: list[str], hit: Hit) -> bool:
    read = words_of(hit.read_as)
    if not read:
        return set(typed) <= set(words_of(hit.title))
    pairs = zip(typed, read, strict=False)
    return len(typed) == len(read) and all(mistakes_in(a, b) + mistakes_in(b, a) <= 2 for a, b in pairs)


def _phrases(words: list[str]) -> list[list[str]]:
    """Codes alone, words that follow each other together."""
    found: list[list[str]] = []
    for word in words:
        if found and not _is_code(word) and not _is_code(found[-1][-1]):
            found[-1].append(word)
        else:
            found.append([word])
    return found


def _is_code(text: str) -> bool:
    """Whether a text has the shape of a code; words have none of its digits."""
    return any(mark.isdigit() for mark in text) and any(_fits(text, system) for system in System)


def _fits(text: str, system: System) -> bool:
    try:
        return bool(normalize(text, system))
    except CodeError:
        return False


def _code_of(text: str, kind: Kind) -> str | None:
    """The listed code that a text is."""
    try:
        code = resolve(text, kind)
    except CodeError:
        return None
    return code if is_listed(code) else None
