"""Turns lists of code texts in Arrow columns into rows of a model's diagnoses, without a loop over stays.

Each distinct text is looked up once and remembered, so codes as people type them (`428.0`) cost no more than
canonical ones, and a code of an ICD version that the model lacks is translated once. A code that the model does not
know becomes the heading whose known codes stand in for it; headings are numbered after the codes of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dx2px.answers.lookup import Found, Lookup
from dx2px.answers.mapping import Translate, untranslated
from dx2px.answers.results import MAPPING_KINDS
from dx2px.codes import gives_way_to
from dx2px.errors import CodeError, InputError
from dx2px.frames import filled, held_numbers
from dx2px.ragged import Index, Ragged, joined, offsets_of

Counts = NDArray[np.int32]

CODE_LISTS = pa.list_(pa.string())
_REMEMBERED = (
    500_000  # texts: more than there are codes, but few enough that free text does not fill the memory
)
_UNKNOWN = -1
_OWN = -1  # of the model's own ICD version


@dataclass(frozen=True, eq=False)
class EncodedStays:
    """The rows that stays are scored by, and how many codes of each stay are known, backed off and unknown.

    Each code counts once per stay. Codes of another ICD version count as those that replace them.
    """

    rows: Ragged  # codes of the vocabulary, and headings: |D| + place
    known: Counts  # (stays,)
    backed_off: Counts  # (stays,)
    unknown: Counts  # (stays,)
    foreign: Ragged  # how the codes of another version were read: places in `MAPPING_KINDS`

    @property
    def mapping(self) -> dict[str, int]:
        """How many codes of another version were read in each way; each counts once per stay."""
        counts = self.foreign.counts(len(MAPPING_KINDS)).tolist()
        return {kind: count for kind, count in zip(MAPPING_KINDS, counts, strict=True) if count}


@dataclass(frozen=True, eq=False)
class _Texts:
    """Texts that were looked up, and what they mean. Numbers identify codes; 0 is no code."""

    texts: pa.Array  # (t,)
    code: Index  # (t,) the number of the code that a text writes
    way: Index  # (t,) how it was read if it is of another version, else `_OWN`
    read: Ragged  # of each text, the numbers of the codes that it is read as
    rows: Index  # of these codes, laid flat

    def plus(self, texts: pa.Array, meanings: Sequence[_Meaning]) -> _Texts:
        read = Ragged.from_lists([one.read for one in meanings])
        rows = [row for one in meanings for row in one.rows]
        return _Texts(
            pa.concat_arrays([self.texts, texts]),
            np.append(self.code, np.array([one.code for one in meanings], np.int32)),
            np.append(self.way, np.array([one.way for one in meanings], np.int32)),
            joined([self.read, read]),
            np.append(self.rows, np.array(rows, np.int32)),
        )

    def entries(self, stays: Ragged) -> tuple[Ragged, Index]:
        """The numbers of the codes that the texts of stays are read as, and the rows of these."""
        if len(self.rows) == len(self.texts):  # one each
            return Ragged(stays.offsets, self.read.values[stays.values]), self.rows[stays.values]
        place = Ragged(self.read.offsets, np.arange(len(self.rows), dtype=np.int32)).take(stays.values)
        offsets = place.offsets[stays.offsets]
        return Ragged(offsets, self.read.values[place.values]), self.rows[place.values]

    def foreign(self, stays: Ragged) -> Ragged:
        """How the codes of another version were read, each once per stay."""
        way = self.way[stays.values]
        if np.all(way == _OWN):
            return Ragged(np.zeros(len(stays) + 1, np.int64), np.empty(0, np.int32))
        offsets, first = distinct(Ragged(stays.offsets, self.code[stays.values]))
        way = way if first is None else way[first]
        return Ragged(offsets, way).filtered(way != _OWN)


class _Meaning(NamedTuple):
    """What a text means, in the numbers of `_Texts`."""

    code: int
    way: int
    read: Sequence[int]
    rows: Sequence[int]


# The first text is null: it is no code, and unknown.
_NOTHING = _Texts(
    pa.nulls(0, pa.string()), *(np.empty(0, np.int32),) * 2, Ragged.from_lists([]), np.empty(0, np.int32)
)
_START = _NOTHING.plus(pa.nulls(1, pa.string()), [_Meaning(0, _OWN, [0], [_UNKNOWN])])


class StayEncoder:
    """Finds the codes of stays among a model's codes and headings; several threads may ask at once.

    `translate` says what replaces a code of a version that the model lacks; by default nothing does.
    """

    def __init__(
        self, lookup: Lookup, headings: Mapping[str, int], translate: Translate | None = None
    ) -> None:
        self.lookup, self.headings = lookup, headings
        self.translate = translate or untranslated(lookup)
        self._lock = Lock()
        self._texts = _START
        self._numbers: dict[str, int] = {}
        self._implied: dict[int, str] = {}  # codes that may give way to others, by number

    def encode(self, lists: pa.Array) -> EncodedStays:
        """Rows of a column of type `CODE_LISTS`; a null list is an empty one, a null code an unknown one."""
        lengths = filled(pc.list_value_length(lists), 0)
        learned, places = self._places(lists.flatten())
        stays = Ragged(offsets_of(lengths), places)
        codes, rows = learned.entries(stays)
        offsets, first = distinct(codes)
        if first is not None:
            codes, rows = Ragged(offsets, codes.values[first]), rows[first]
        if self._implied:
            stay = self._settled(codes)
            codes, rows = codes.filtered(stay), rows[stay]
        offsets = codes.offsets
        size = len(self.lookup.vocabulary)
        used = rows != _UNKNOWN
        counts = [_per_stay(mask, offsets) for mask in (used & (rows < size), rows >= size, ~used)]
        kept = Ragged(offsets_of(counts[0] + counts[1]), rows[used])
        return EncodedStays(kept, counts[0], counts[1], counts[2], learned.foreign(stays))

    def _settled(self, codes: Ragged) -> NDArray[np.bool_]:
        """Which entries do not give way to another code of their stay."""
        kept = np.ones(len(codes.values), np.bool_)
        stay = codes.row_of_entry
        for number, code in list(self._implied.items()):
            of = codes.values == number
            if of.any():
                others = [self._numbers.get(one, 0) for one in (code, *gives_way_to(code))]
                kept &= ~(of & np.isin(stay, stay[np.isin(codes.values, others)]))
        return kept

    def row(self, text: str) -> int | None:
        """The row of one code, the first of several that replace it; None if it cannot be used."""
        with self._lock:
            row = self._meaning(text).rows[0]
        return None if row == _UNKNOWN else row

    def _places(self, texts: pa.Array) -> tuple[_Texts, Index]:
        """What was learned of the texts so far, and the place of each entry there."""
        encoded = texts.dictionary_encode()
        learned = self._learned(encoded.dictionary)
        places = held_numbers(pc.index_in(encoded.dictionary, learned.texts))
        entries = filled(encoded.indices, len(places))
        return learned, np.append(places, np.int32(0))[entries]

    def _learned(self, texts: pa.Array) -> _Texts:
        with self._lock:
            if len(self._texts.texts) > _REMEMBERED:
                self._forget()
            new = texts.filter(pc.is_null(pc.index_in(texts, self._texts.texts)))
            if len(new):
                self._texts = self._texts.plus(new, self._meanings(new))
            return self._texts

    def _meanings(self, texts: pa.Array) -> list[_Meaning]:
        try:
            return [self._meaning(text) for text in texts.to_pylist()]
        except UnicodeDecodeError:
            raise InputError("A code is not text in UTF-8: write the file's text columns as UTF-8.") from None

    def _meaning(self, text: str) -> _Meaning:
        """A text that fits several codes is unknown."""
        try:
            found = self.lookup.find(text)
        except CodeError:
            return _Meaning(number := self._number(text), _OWN, [number], [_UNKNOWN])
        mapped = self.translate(found.code)
        read = [self.lookup.find(code) for code in mapped.to] if mapped and mapped.to else [found]
        way = _OWN if mapped is None else MAPPING_KINDS.index(mapped.kind)
        implied = mapped.implied if mapped else ()
        numbers = [
            self._implied_number(one.code) if one.code in implied else self._number(one.code) for one in read
        ]
        return _Meaning(self._number(found.code), way, numbers, [self._row(one) for one in read])

    def _row(self, found: Found) -> int:
        if found.siblings is not None:
            return len(self.lookup.vocabulary) + self.headings[found.siblings.heading]
        return _UNKNOWN if found.index is None else found.index

    def _number(self, code: str) -> int:
        return self._numbers.setdefault(code, len(self._numbers) + 1)

    def _implied_number(self, code: str) -> int:
        """The number of a code that may give way, other than that of the code by itself."""
        number = self._number(f"{code} implied")
        self._implied[number] = code
        return number

    def _forget(self) -> None:
        """Numbers identify codes only within one block, so they may start again."""
        self._texts = _START
        self._numbers.clear()
        self._implied.clear()


def check_code_lists(kind: pa.DataType, column: str = "diagnoses") -> None:
    """Raise an `InputError` if a column of this type does not hold lists of text (numbers have lost their zeros)."""
    if not _lists_of_text(kind):
        held = "texts" if pa.types.is_string(kind) or pa.types.is_large_string(kind) else kind
        raise InputError(
            f"The column {column} must hold lists of codes as text, as in ['585.6', '427.5'], not {held}."
        )


def _lists_of_text(kind: pa.DataType) -> bool:
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return pa.types.is_null(kind) or (any(test(kind) for test in tests) and _text(kind.value_type))


def _text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _text(kind.value_type)
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    return any(test(kind) for test in tests)


def distinct(codes: Ragged) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """Boundaries of the stays, and the first entry of each code in its stay; None if no code is repeated."""
    if not codes.has_repeats():
        return codes.offsets, None
    keys = codes.row_of_entry * (int(codes.values.max()) + 1) + codes.values
    first = np.sort(np.unique(keys, return_index=True)[1])
    return offsets_of(np.bincount(codes.row_of_entry[first], minlength=len(codes))), first


def _per_stay(mask: NDArray[np.bool_], offsets: NDArray[np.int64]) -> Counts:
    """The number of marked entries in each stay."""
    return np.diff(offsets_of(mask.view(np.int8))[offsets]).astype(np.int32)
