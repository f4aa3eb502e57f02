"""From what people type to a model's codes: `428.0`, `4280` and `icd9cm:4280` are one diagnosis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from dx2px.answers.results import StandIn, Status
from dx2px.codes import (
    Kind,
    System,
    dotted,
    holds,
    is_family,
    members,
    normalize,
    read_family,
    resolve,
    split,
    title,
)
from dx2px.cohort.vocabulary import Vocabulary
from dx2px.errors import CodeError
from dx2px.scoring.back_off import BackOff, Siblings

_LONGEST_SHOWN = 40
_REMEMBERED = 20_000  # texts of codes that the model can use


@dataclass(frozen=True)
class Found:
    """A typed code: canonical if it has the shape of a code, with its index if the model knows it.

    If the model does not know it, `siblings` are the codes that stand in for it, if there are any.
    """

    code: str
    index: int | None
    siblings: Siblings | None = None
    flaw: str | None = None  # of a text that is not a code

    @cached_property
    def title(self) -> str:
        """Read when it is shown: whole files of stays are scored without the lists of titles."""
        return self.flaw or title(self.code).text

    @property
    def shown(self) -> str:
        """The code as people read it, `428.0`; what was typed where that is not a code."""
        try:
            return dotted(self.code)
        except CodeError:
            return self.code

    @cached_property
    def status(self) -> Status:
        if self.index is not None:
            return "known"
        return "unknown" if self.siblings is None else "backed-off"

    @cached_property
    def members(self) -> tuple[int, ...]:
        """The codes of the vocabulary that stand for this one: itself, its siblings, or none."""
        if self.index is not None:
            return (self.index,)
        return () if self.siblings is None else self.siblings.members

    @cached_property
    def stand_in(self) -> StandIn | None:
        """What stands in for the code, as answers show it."""
        if self.siblings is None:
            return None
        heading = self.siblings.heading
        return StandIn(heading, title(heading).text, len(self.siblings.members))


class Lookup:
    """Finds typed codes of one kind in a vocabulary, and stand-ins for others where it is given a `BackOff`."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        kind: Kind,
        back_off: BackOff | None = None,
        counts: Sequence[int] | None = None,
    ) -> None:
        self.vocabulary, self.kind, self.back_off = vocabulary, kind, back_off
        self.counts = counts  # of training stays with each code
        counted = Counter(split(code)[0] for code in vocabulary)
        self.systems: list[System] = [system for system, _ in counted.most_common()]
        if strangers := [system for system in self.systems if system.kind != kind]:
            raise CodeError(f"there are {strangers[0].label} codes among the {kind} codes.")
        # People ask about the same codes again and again.
        self._found: dict[str, Found] = {}
        self._placed: dict[int, Found] = {}

    def find(self, text: str) -> Found:
        """The code that a text means; a `CodeError` if several codes of the model fit it."""
        found = self._found.get(text)
        if found is None:
            found = self._find(text)
            if found.status != "unknown" and len(self._found) < _REMEMBERED:
                self._found[text] = found
        return found

    def _find(self, text: str) -> Found:
        known = self.candidates(text)
        if len(known) > 1:
            raise ambiguous(text, known)
        if known:
            return self._known(self.vocabulary.index(known[0]))
        try:
            code = resolve(text, self.kind, prefer=self.systems)
        except CodeError:
            return Found(text.strip()[:_LONGEST_SHOWN], None, flaw=f"not an ICD {self.kind} code")
        return Found(code, None, self._siblings(code))

    def find_all(self, texts: Iterable[str]) -> list[Found]:
        """Every code once, in the order typed."""
        return each_once(map(self.find, texts))

    def written(self, text: str) -> str:
        """The code that a text writes, which may be a code of the family that it is found as."""
        found = self.find(text)
        whole = (
            _normalized(text, System.ICD10PCS) if found.index is not None and is_family(found.code) else None
        )
        return whole or found.code

    def at(self, index: int) -> Found:
        """The code at a place of the vocabulary."""
        if index not in self._placed:
            code = self.vocabulary[index]
            self._placed[index] = Found(code, index)
        return self._placed[index]

    def _known(self, index: int) -> Found:
        found = self.at(index)
        if self.back_off is None or self.back_off.learned(index):
            return found
        siblings = self._siblings(found.code)
        return found if siblings is None else Found(found.code, None, siblings)

    def _siblings(self, code: str) -> Siblings | None:
        return None if self.back_off is None else self.back_off.siblings(code)

    def candidates(self, text: str) -> list[str]:
        """The codes of the vocabulary that a text may mean, at most one per system."""
        fitting = (_normalized(text, system) for system in self.systems)
        found = (code if code in self.vocabulary else self.family_of(code) for code in fitting if code)
        return [code for code in found if code is not None]

    def family_of(self, code: str) -> str | None:
        """The family of the vocabulary that an ICD-10-PCS code or a narrower family belongs to.

        Of several, the one most frequent in training; then the smallest.
        """
        holding = [one for one in self._families.get(code[: self._TABLE], ()) if holds(code, one)]
        return min(holding, key=lambda one: (-self._count(one), len(members(one))), default=None)

    @cached_property
    def codes(self) -> frozenset[str]:
        """The codes of the vocabulary."""
        return frozenset(self.vocabulary)

    @property
    def has_families(self) -> bool:
        """Whether some codes are families."""
        return bool(self._families)

    def _count(self, code: str) -> int:
        return 0 if self.counts is None else self.counts[self.vocabulary.index(code)]

    _TABLE = len("icd10pcs:0SR")  # characters up to the root operation

    @cached_property
    def _families(self) -> Mapping[str, list[str]]:
        """The families of the vocabulary, by the root operations of their codes."""
        found: dict[str, list[str]] = {}
        for one in filter(is_family, self.vocabulary):
            for table in {code[: self._TABLE] for code in members(one)}:
                found.setdefault(table, []).append(one)
        return found


def each_once(found: Iterable[Found]) -> list[Found]:
    """Those of different codes, in their order."""
    return list({one.code: one for one in found}.values())


def ambiguous(text: str, codes: Sequence[str]) -> CodeError:
    """The error for a text that fits several codes of the model."""
    shown = repr(text[:_LONGEST_SHOWN])
    return CodeError(f"{shown} may be {' or '.join(codes)}: write it with its system, as in {codes[0]}.")


def _normalized(text: str, system: System) -> str | None:
    try:
        return normalize(text, system)
    except CodeError:
        return _read_family(text) if system is System.ICD10PCS else None


def _read_family(text: str) -> str | None:
    try:
        return read_family(text)
    except CodeError:
        return None
