"""From what people type to a model's codes: `428.0`, `4280` and `icd9cm:4280` are one diagnosis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dx2px.codes import Kind, System, normalize, resolve, split, title
from dx2px.cohort.vocabulary import Vocabulary
from dx2px.errors import CodeError
from dx2px.inference.results import Status

_LONGEST_SHOWN = 40


@dataclass(frozen=True)
class Found:
    """A typed code: canonical where it has the shape of a code, with its index where the model knows it."""

    code: str
    title: str
    index: int | None

    @property
    def status(self) -> Status:
        return "unknown" if self.index is None else "known"


class Lookup:
    """Finds typed codes of one kind in a vocabulary."""

    def __init__(self, vocabulary: Vocabulary, kind: Kind) -> None:
        self.vocabulary, self.kind = vocabulary, kind
        counted = Counter(split(code)[0] for code in vocabulary)
        self.systems: list[System] = [system for system, _ in counted.most_common()]
        if strangers := [system for system in self.systems if system.kind != kind]:
            raise CodeError(f"{strangers[0].label} codes stand among those of the kind {kind}.")

    def find(self, text: str) -> Found:
        """The code that a text means; a `CodeError` when several codes of the model fit it."""
        known = self.candidates(text)
        if len(known) > 1:
            raise ambiguous(text, known)
        if known:
            return self.at(self.vocabulary.index(known[0]))
        try:
            code = resolve(text, self.kind, prefer=self.systems)
        except CodeError:
            return Found(text.strip()[:_LONGEST_SHOWN], f"not an ICD {self.kind} code", None)
        return Found(code, title(code).text, None)

    def find_all(self, texts: Iterable[str]) -> list[Found]:
        """Every code once, in the order typed."""
        return list(dict.fromkeys(self.find(text) for text in texts))

    def at(self, index: int) -> Found:
        """The code at a place of the vocabulary."""
        code = self.vocabulary[index]
        return Found(code, title(code).text, index)

    def candidates(self, text: str) -> list[str]:
        """The codes of the vocabulary that a text may mean, at most one a system."""
        fitting = (_normalized(text, system) for system in self.systems)
        return [code for code in fitting if code is not None and code in self.vocabulary]


def ambiguous(text: str, codes: Sequence[str]) -> CodeError:
    """What to raise where a text fits several codes of the model."""
    shown = repr(text[:_LONGEST_SHOWN])
    return CodeError(f"{shown} may be {' or '.join(codes)}: write it with its system, as in {codes[0]}.")


def _normalized(text: str, system: System) -> str | None:
    try:
        return normalize(text, system)
    except CodeError:
        return None
