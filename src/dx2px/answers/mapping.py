"""Translates diagnoses of one ICD version for a model of the other, by the public equivalence maps."""

from __future__ import annotations

from collections.abc import Sequence

from dx2px.answers.lookup import Lookup
from dx2px.answers.results import Mapped
from dx2px.codes import equivalence, split
from dx2px.errors import CodeError


def map_codes(
    texts: Sequence[str], lookup: Lookup, counts: Sequence[int] | None
) -> tuple[list[str], tuple[Mapped, ...]]:
    """The texts, with codes of a version that the model lacks replaced by their equivalents; and each mapping.

    Of several alternatives the most frequent one in training is taken. A code without an equivalent stays as it is,
    and is then reported as unknown.
    """

    def weight(code: str) -> float:
        index = lookup.vocabulary.get(code)
        return 0.0 if index is None else 1.0 if counts is None else 1.0 + counts[index]

    put: list[str] = []
    mapped: list[Mapped] = []
    for text in texts:
        code = lookup.find(text).code
        if not _of_other_version(code, lookup):
            put.append(text)
            continue
        entry = equivalence(code)
        chosen = () if entry is None else entry.choose(weight)
        mapped.append(Mapped(code, chosen, bool(entry and entry.exact), listed=entry is not None))
        put.extend(chosen or [code])
    return put, tuple(dict.fromkeys(mapped))


def _of_other_version(code: str, lookup: Lookup) -> bool:
    try:
        system, _ = split(code)
    except CodeError:  # what was typed is not a code
        return False
    return system.kind == lookup.kind and system not in lookup.systems
