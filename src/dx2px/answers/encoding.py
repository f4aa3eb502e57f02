"""Turns lists of code texts in Arrow columns into rows of a model's diagnoses, without a loop over stays.

Each distinct text is looked up once and remembered, so codes as people type them (`428.0`) cost no more than
canonical ones. A code that the model does not know becomes the heading whose known codes stand in for it; headings
are numbered after the codes of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dx2px.answers.lookup import Lookup
from dx2px.errors import CodeError, InputError
from dx2px.ragged import Ragged, offsets_of

Counts = NDArray[np.int32]

CODE_LISTS = pa.list_(pa.string())
_REMEMBERED = (
    500_000  # texts: more than there are codes, but few enough that free text does not fill the memory
)
_UNKNOWN = -1


@dataclass(frozen=True, eq=False)
class EncodedStays:
    """The rows that stays are scored by, and how many codes of each stay are known, backed off and unknown.

    Each code counts once per stay.
    """

    rows: Ragged  # codes of the vocabulary, and headings: |D| + place
    known: Counts  # (stays,)
    backed_off: Counts  # (stays,)
    unknown: Counts  # (stays,)


class StayEncoder:
    """Finds the diagnoses of stays among a model's codes and headings; several threads may ask at once."""

    def __init__(self, lookup: Lookup, headings: Mapping[str, int]) -> None:
        self.lookup, self.headings = lookup, headings
        self._lock = Lock()
        self._texts = pa.array([], pa.string())
        self._codes = self._rows = np.empty(0, np.int32)
        self._numbers: dict[str, int] = {}

    def encode(self, lists: pa.Array) -> EncodedStays:
        """Rows of a column of type `CODE_LISTS`; a null list is an empty one, a null code an unknown one."""
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
        codes, rows = self._entries(lists.flatten())  # (entries,) (entries,)
        offsets, first = _distinct(Ragged(offsets_of(lengths), codes))
        rows = rows if first is None else rows[first]
        size = len(self.lookup.vocabulary)
        used = rows != _UNKNOWN
        counts = [_per_stay(mask, offsets) for mask in (used & (rows < size), rows >= size, ~used)]
        kept = Ragged(offsets_of(counts[0] + counts[1]), rows[used])
        return EncodedStays(kept, counts[0], counts[1], counts[2])

    def row(self, text: str) -> int | None:
        """The row of one code, or None if it cannot be used."""
        with self._lock:
            row = self._meaning(text)[1]
        return None if row == _UNKNOWN else row

    def _entries(self, texts: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """For each entry a number that identifies its code, and its row; all nulls are one unknown code."""
        encoded = texts.dictionary_encode()
        codes, rows = self._meanings(encoded.dictionary)
        places = pc.fill_null(encoded.indices, len(codes)).to_numpy(zero_copy_only=False)
        return np.append(codes, np.int32(0))[places], np.append(rows, np.int32(_UNKNOWN))[places]

    def _meanings(self, texts: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        with self._lock:
            if len(self._texts) > _REMEMBERED:
                self._forget()
            new = texts.filter(pc.is_null(pc.index_in(texts, self._texts)))
            if len(new):
                self._learn(new)
            places = pc.index_in(texts, self._texts).to_numpy(zero_copy_only=False)
            return self._codes[places], self._rows[places]

    def _learn(self, texts: pa.Array) -> None:
        try:
            meanings = [self._meaning(text) for text in texts.to_pylist()]
        except UnicodeDecodeError:
            raise InputError("A code is not text in UTF-8: write the file's text columns as UTF-8.") from None
        self._texts = pa.concat_arrays([self._texts, texts])
        self._codes, self._rows = (
            np.append(old, np.array(new, np.int32))
            for old, new in zip((self._codes, self._rows), zip(*meanings, strict=True), strict=True)
        )

    def _meaning(self, text: str) -> tuple[int, int]:
        """The number of a text's code, from 1, and its row; a text that fits several codes is unknown."""
        try:
            found = self.lookup.find(text)
        except CodeError:
            return self._number(text), _UNKNOWN
        number = self._number(found.code)
        if found.siblings is not None:
            return number, len(self.lookup.vocabulary) + self.headings[found.siblings.heading]
        return number, _UNKNOWN if found.index is None else found.index

    def _number(self, code: str) -> int:
        return self._numbers.setdefault(code, len(self._numbers) + 1)

    def _forget(self) -> None:
        """Numbers identify codes only within one block, so they may start again."""
        self._texts, self._codes, self._rows = self._texts[:0], self._codes[:0], self._rows[:0]
        self._numbers.clear()


def check_code_lists(kind: pa.DataType, column: str = "diagnoses") -> None:
    """Raise an `InputError` if a column of this type does not hold lists of text (numbers have lost their zeros)."""
    if not _lists_of_text(kind):
        raise InputError(f"The column {column} must hold lists of codes as text, not {kind}.")


def _lists_of_text(kind: pa.DataType) -> bool:
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return pa.types.is_null(kind) or (any(test(kind) for test in tests) and _text(kind.value_type))


def _text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _text(kind.value_type)
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    return any(test(kind) for test in tests)


def _distinct(codes: Ragged) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """Boundaries of the stays, and the first entry of each code in its stay; None if no code is repeated."""
    if not codes.has_repeats():
        return codes.offsets, None
    keys = codes.row_of_entry * (int(codes.values.max()) + 1) + codes.values
    first = np.sort(np.unique(keys, return_index=True)[1])
    return offsets_of(np.bincount(codes.row_of_entry[first], minlength=len(codes))), first


def _per_stay(mask: NDArray[np.bool_], offsets: NDArray[np.int64]) -> Counts:
    """The number of marked entries in each stay."""
    return np.diff(offsets_of(mask.view(np.int8))[offsets]).astype(np.int32)
