"""Translates diagnoses of one ICD version for a model of the other, by the public equivalence maps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dx2px.answers.lookup import Found, Lookup, each_once
from dx2px.answers.results import Mapped
from dx2px.codes import Notation, equivalence, nearest, split
from dx2px.errors import CodeError, OtherVersionError
from dx2px.words import counted

Translate = Callable[[str], Mapped | None]  # of a canonical code; None for one of the model's own version


@dataclass(frozen=True)
class Translation:
    """How a model reads the diagnoses of many stays that are of a version it lacks: translated, or refused."""

    lookup: Lookup
    counts: Sequence[int] | None
    allowed: bool = True

    def __call__(self, code: str) -> Mapped | None:
        if not of_other_version(code, self.lookup):
            return None
        if not self.allowed:
            own = Notation.of(self.lookup.vocabulary).name
            raise OtherVersionError(
                f"The model knows {own} diagnoses, and stays have others: leave out --no-map (map=False) to have them "
                "translated."
            )
        return _mapped(code, self.lookup, self.counts)


def untranslated(lookup: Lookup) -> Translate:
    """For codes that no map translates: those of a version that the model lacks are replaced by nothing."""
    return lambda code: (
        Mapped(code, (), exact=False, listed=False) if of_other_version(code, lookup) else None
    )


def added(*counts: Mapping[str, int]) -> dict[str, int]:
    """The sums of counts by kind of mapping."""
    return dict(sum(map(Counter, counts), Counter[str]()))


def mapping_summary(counts: Mapping[str, int]) -> str:
    """What became of diagnoses that were translated, in a sentence; `counts` are by kind of mapping."""
    number = {kind: f"{counts.get(kind, 0):,}" for kind in ("exact", "approximate", "parent")}
    lost = counts.get("no-map", 0) + counts.get("not-listed", 0)
    return (
        f"Of another ICD version than the model's: {counted(sum(counts.values()), 'diagnosis', 'diagnoses')}. "
        f"Translated exactly: {number['exact']}; by the nearest code: {number['approximate']}; by their heading: "
        f"{number['parent']}. Lost: {lost:,}."
    )


def rewritten(code: str) -> str:
    """A diagnosis in the other ICD version, as a coder would choose it: of several codes, the first that leads back.

    The code itself if the maps have none.
    """
    entry = equivalence(code)
    entry = entry if entry and entry.scenarios else nearest(code)
    chosen = entry.choose(lambda target: float(code in _targets(target))) if entry else ()
    return chosen[0] if chosen else code


def map_codes(
    texts: Sequence[str], lookup: Lookup, counts: Sequence[int] | None
) -> tuple[list[Found], tuple[Mapped, ...]]:
    """What texts mean, each code once: those of a version that the model lacks as their equivalents; and each mapping.

    Of several alternatives the most frequent one in training is taken. A code without an equivalent stays as it is,
    and is then reported as unknown.
    """
    read: list[tuple[Found, Mapped | None]] = []
    for found in map(lookup.find, texts):
        foreign = found.index is None and of_other_version(found.code, lookup)
        read.append((found, _mapped(found.code, lookup, counts) if foreign else None))
    read = [(found, one and one.beside(_others(read, one))) for found, one in read]
    put = [
        each
        for found, one in read
        for each in ([found] if one is None else map(lookup.find, one.to or [found.code]))
    ]
    return each_once(put), tuple(dict.fromkeys(one for _, one in read if one is not None))


def _others(read: Sequence[tuple[Found, Mapped | None]], but: Mapped) -> set[str]:
    """The codes that a stay's other diagnoses are read as, where one diagnosis implies what may give way to them."""
    if not but.implied:
        return set()
    return {code for found, one in read if one != but for code in ([found.code] if one is None else one.to)}


def _mapped(code: str, lookup: Lookup, counts: Sequence[int] | None) -> Mapped:
    def weight(target: str) -> float:
        index = lookup.vocabulary.get(target)
        if index is None:
            return _closeness(target, lookup)
        return 1.0 if counts is None else 1.0 + counts[index]

    entry = nearest(code)
    if entry is None:
        return Mapped(code, (), exact=False, listed=False)
    via = entry.of if entry.of != code else None
    return Mapped(code, entry.choose(weight), entry.exact, listed=True, via=via)


def _targets(code: str) -> set[str]:
    """The codes that the map gives for a code."""
    entry = equivalence(code)
    return {one for scenario in (entry.scenarios if entry else ()) for choices in scenario for one in choices}


def _closeness(code: str, lookup: Lookup) -> float:
    """Below 1 for a code that the model has not seen: the more of it the heading has that stands in, the more."""
    siblings = lookup.back_off.siblings(code) if lookup.back_off else None
    if siblings is None:
        return 0.0
    _, heading = split(siblings.heading)
    return 0.01 if heading.startswith("@") else len(heading) / 10


def of_other_version(code: str, lookup: Lookup) -> bool:
    """Whether a code is of the lookup's kind, but of an ICD version that the model has no codes of."""
    try:
        system, _ = split(code)
    except CodeError:  # what was typed is not a code
        return False
    return system.kind == lookup.kind and system not in lookup.systems
