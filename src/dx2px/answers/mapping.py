"""Translates diagnoses of one ICD version for a model of the other, by the public equivalence maps."""

from __future__ import annotations

from collections.abc import Sequence

from dx2px.answers.lookup import Lookup
from dx2px.answers.results import Mapped
from dx2px.codes import nearest, split
from dx2px.errors import CodeError


def map_codes(
    texts: Sequence[str], lookup: Lookup, counts: Sequence[int] | None
) -> tuple[list[str], tuple[Mapped, ...]]:
    """The texts, with codes of a version that the model lacks replaced by their equivalents; and each mapping.

    Of several alternatives the most frequent one in training is taken. A code without an equivalent stays as it is,
    and is then reported as unknown.
    """
    put: list[str] = []
    mapped: list[Mapped] = []
    for text in texts:
        code = lookup.find(text).code
        if not of_other_version(code, lookup):
            put.append(text)
            continue
        one = _mapped(code, lookup, counts)
        mapped.append(one)
        put.extend(one.to or [code])
    return put, tuple(dict.fromkeys(mapped))


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
