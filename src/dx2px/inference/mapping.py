"""Diagnoses of one version of ICD put to a model of the other, through the public equivalence maps."""

from __future__ import annotations

from collections.abc import Sequence

from dx2px.codes import equivalence, split
from dx2px.errors import CodeError
from dx2px.inference.lookup import Lookup
from dx2px.inference.results import Mapped


def map_codes(
    texts: Sequence[str], lookup: Lookup, counts: Sequence[int] | None
) -> tuple[list[str], tuple[Mapped, ...]]:
    """The texts, with codes of a version that the model lacks replaced by what stands for them, and each mapping.

    Of alternatives the one most frequent in training is taken. A code that nothing stands for stays as it is, and
    will be told as unknown.
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
    except CodeError:  # what was typed is no code
        return False
    return system.kind == lookup.kind and system not in lookup.systems
