"""The code lists of a cohort file: how they are read into index arrays, written back, and checked.

`Cohort` reads whole columns and `CohortStream` one row group at a time; both go through here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dx2px.codes import Kind, has_shape, is_family, split
from dx2px.cohort.vocabulary import Vocabulary
from dx2px.errors import CodeError, CohortError
from dx2px.ragged import Index, Ragged, offsets_of
from dx2px.words import counted


def numbered(lists: pa.ListArray, name: str, path: str) -> tuple[NDArray[Any], list[str], Index]:
    """The lengths of the lists, their distinct codes, and for each entry the number of its code among these."""
    flat = lists.flatten()
    if lists.null_count or flat.null_count:
        raise CohortError(f"{path} is not a cohort file: the column {name} has missing values.")
    # Codes that the file stores as a dictionary are numbers already.
    coded = flat if pa.types.is_dictionary(flat.type) else flat.dictionary_encode()
    numbers = coded.indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
    return np.diff(lists.offsets.to_numpy()), coded.dictionary.to_pylist(), numbers


class ListReader:
    """Gathers one list column, batch by batch, into a Ragged and its vocabulary."""

    def __init__(self, name: str, path: str) -> None:
        self.name, self.path = name, path
        self.first_seen: dict[str, int] = {}  # the codes, numbered in the order in which they appear
        self.lengths: list[NDArray[np.int32]] = []
        self.values: list[NDArray[np.int32]] = []

    def add(self, column: pa.ListArray) -> None:
        """Take in the lists of a batch."""
        lengths, codes, numbers = numbered(column, self.name, self.path)
        own = [self.first_seen.setdefault(code, len(self.first_seen)) for code in codes]
        self.values.append(np.asarray(own, dtype=np.int32)[numbers])
        self.lengths.append(lengths.astype(np.int32))

    def finish(self) -> tuple[Ragged, Vocabulary]:
        """All lists, and the vocabulary that they are numbered by."""
        vocabulary = Vocabulary.sorted(self.first_seen)
        place = np.array([vocabulary.index(code) for code in self.first_seen], dtype=np.int32)
        offsets = offsets_of(np.concatenate([np.empty(0, np.int32), *self.lengths]))
        values = np.empty(offsets[-1], np.int32)
        start = 0
        while self.values:  # each batch is freed as soon as it is copied, so memory peaks at one copy
            part = self.values.pop(0)
            values[start : start + len(part)] = place[part]
            start += len(part)
        return Ragged(offsets, values), vocabulary


def list_array(ragged: Ragged, vocabulary: Vocabulary, start: int, stop: int) -> pa.ListArray:
    """Rows `start` to `stop` as lists of canonical text."""
    offsets = ragged.offsets[start : stop + 1]
    codes = pa.array(vocabulary.codes, pa.string())
    values = codes.take(pa.array(ragged.values[offsets[0] : offsets[-1]]))
    return pa.ListArray.from_arrays(pa.array((offsets - offsets[0]).astype(np.int32)), values)


def list_problems(lists: Ragged, name: str) -> list[str]:
    """What is wrong with the lists of one kind; every stay needs a code, and each code once."""
    problems = []
    if np.any(lists.lengths == 0):
        problems.append(f"some stays have no {name}")
    if lists.has_repeats():
        problems.append(f"some stays have the same code twice among their {name}")
    return problems


def code_problems(vocabulary: Vocabulary, kind: Kind) -> list[str]:
    """What is wrong with the codes themselves: each must be canonical text of its kind."""
    wrong = [code for code in vocabulary if not is_canonical(code, kind)]
    if not wrong:
        return []
    codes = counted(
        len(wrong), f"code is not a canonical {kind} code", f"codes are not canonical {kind} codes"
    )
    return [f"{codes} (for example {wrong[0][:40]!r})"]


def refuse(where: str, problems: Iterable[str]) -> None:
    """A `CohortError` that names all problems at once, if there are any."""
    found = "; ".join(problems)
    if found:
        raise CohortError(f"{where} cannot be used as a cohort: {found}.")


def is_canonical(code: str, kind: Kind) -> bool:
    """Whether the text is a canonical code of this kind, or a family of such codes."""
    try:
        system, bare = split(code)
    except CodeError:
        return False
    return system.kind == kind and (has_shape(bare, system) or is_family(code))
