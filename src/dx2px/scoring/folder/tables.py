"""The Parquet files of a model folder, as bytes: vocabulary, history, split.

A small Parquet file can unpack to very much. So its description of itself is checked first: the columns, the number of
rows, and that it is packed only in the ways that dx2px packs, which bounds how much a file can hold.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dx2px.scoring.folder.flaws import FlawError

KINDS = ("diagnosis", "procedure")
VOCABULARY_COLUMNS = pa.schema(
    [
        pa.field("kind", pa.string(), nullable=False),
        pa.field("index", pa.int32(), nullable=False),
        pa.field("code", pa.string(), nullable=False),
        pa.field("count", pa.int64()),
    ]
)
Counts = Sequence[int] | None

MOST_CODES = 250_000  # of both kinds; ICD-9 and ICD-10 together have 171,000
MOST_EPOCHS = 100_000
MOST_MEASURES = 100  # columns of a history
MOST_STAYS = 50_000_000
_LONGEST_CODE = 100  # characters
_MOST_GROUPS = 1000  # row groups
_PACKINGS = frozenset({"SNAPPY", "UNCOMPRESSED"})
_ENCODINGS = frozenset({"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"})


def vocabulary_bytes(codes: Sequence[Sequence[str]], counts: Sequence[Counts]) -> bytes:
    """Diagnoses, then procedures, one row per code."""
    parts = zip(KINDS, codes, counts, strict=True)
    return _bytes(pa.concat_tables([_vocabulary_part(*part) for part in parts]))


def read_vocabulary(data: bytes, name: str) -> tuple[list[tuple[str, ...]], list[Counts]]:
    """Codes and counts of the diagnoses, then of the procedures; counts are None if the file has none."""
    # As dictionaries: a long text that many rows repeat is then in memory once.
    file = _open(data, name, MOST_CODES, ["kind", "code"])
    if file.schema_arrow.names != VOCABULARY_COLUMNS.names:
        raise FlawError(f"{name} does not have the columns of a vocabulary")
    table = _plain(_unpack(file, name), name)
    if table.schema.remove_metadata() != VOCABULARY_COLUMNS or _has_gaps(table):
        raise FlawError(f"{name} does not have the columns of a vocabulary")
    rows = table.to_pydict()
    sizes = [rows["kind"].count(kind) for kind in KINDS]
    places = [(kind, index) for kind, size in zip(KINDS, sizes, strict=True) for index in range(size)]
    if list(zip(rows["kind"], rows["index"], strict=True)) != places:
        raise FlawError(f"{name} is out of order")
    cut = sizes[0]
    codes, counts = rows["code"], rows["count"]
    return [tuple(codes[:cut]), tuple(codes[cut:])], [_counts(counts[:cut]), _counts(counts[cut:])]


def code_flaws(codes: Sequence[str], kind: str) -> list[str]:
    """What is wrong with the codes of one kind."""
    if not codes:
        return [f"it has no {kind} codes"]
    if len(codes) > MOST_CODES:
        return [f"it has more than {MOST_CODES:,} {kind} codes"]
    if len(set(codes)) != len(codes):
        return [f"its {kind} codes repeat"]
    if any(not code.isprintable() or " " in code or ":" not in code for code in codes):
        return [f"some of its {kind} codes are not canonical codes such as icd9cm:4280"]
    return [] if all(a < b for a, b in pairwise(codes)) else [f"its {kind} codes are out of order"]


def history_bytes(history: pa.Table) -> bytes:
    """Only numbers, and no metadata, so that nothing about patients or places can be in it."""
    _check_history(history, "the history")
    return _bytes(history.replace_schema_metadata(None))


def read_history(data: bytes, name: str) -> pa.Table:
    file = _open(data, name, MOST_EPOCHS)
    _check_history_columns(file.schema_arrow, name)
    return _unpack(file, name)


def check_split(data: bytes, name: str) -> None:
    """One column of small numbers: the part of each stay."""
    file = _open(data, name, MOST_STAYS)
    if file.schema_arrow.remove_metadata() != pa.schema([("part", pa.int16())]):
        raise FlawError(f"{name} is not a saved split")
    if _unpack(file, name).column("part").null_count:
        raise FlawError(f"{name} does not say the part of every stay")


def _vocabulary_part(kind: str, codes: Sequence[str], counts: Counts) -> pa.Table:
    if counts is not None and len(counts) != len(codes):
        raise FlawError(f"it has {len(codes)} {kind} codes but {len(counts)} counts of them")
    columns = [
        [kind] * len(codes),
        range(len(codes)),
        codes,
        [None] * len(codes) if counts is None else [int(count) for count in counts],
    ]
    arrays = [pa.array(list(column), f.type) for column, f in zip(columns, VOCABULARY_COLUMNS, strict=True)]
    return pa.Table.from_arrays(arrays, schema=VOCABULARY_COLUMNS)


def _counts(values: list[int | None]) -> Counts:
    known = [value for value in values if value is not None]
    if known and (len(known) != len(values) or min(known) < 0):
        raise FlawError("some counts of its vocabulary are missing or negative")
    return tuple(known) or None


def _has_gaps(table: pa.Table) -> bool:
    return any(table.column(name).null_count for name in ("kind", "index", "code"))


def _check_history(history: pa.Table, name: str) -> None:
    if history.num_rows > MOST_EPOCHS:
        raise FlawError(f"{name} has more than {MOST_EPOCHS:,} rows")
    _check_history_columns(history.schema, name)


def _check_history_columns(schema: pa.Schema, name: str) -> None:
    plain = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    if len(schema) > MOST_MEASURES or not all(any(is_(field.type) for is_ in plain) for field in schema):
        raise FlawError(f"{name} holds columns that are not numbers, or too many of them")


def _open(data: bytes, name: str, most_rows: int, texts: Sequence[str] = ()) -> pq.ParquetFile:
    """The file, not yet unpacked, if its description of itself says that it is small enough."""
    try:
        file = pq.ParquetFile(io.BytesIO(data), read_dictionary=list(texts))
        found = file.metadata
        groups = [found.row_group(i) for i in range(min(found.num_row_groups, _MOST_GROUPS))]
        columns = [group.column(i) for group in groups for i in range(min(found.num_columns, MOST_MEASURES))]
        packed = {(column.compression, *column.encodings) for column in columns}
        rows = max(found.num_rows, sum(max(group.num_rows, 0) for group in groups))
    except (pa.ArrowException, OSError, ValueError, KeyError, RuntimeError) as error:
        raise FlawError(f"{name} is not a readable Parquet file") from error
    if rows > most_rows or found.num_row_groups > _MOST_GROUPS:
        raise FlawError(f"{name} has more than {most_rows:,} rows, or is cut into too many pieces")
    if any(compression not in _PACKINGS or set(how) - _ENCODINGS for compression, *how in packed):
        raise FlawError(f"{name} is packed in a way that dx2px does not use")
    return file


def _unpack(file: pq.ParquetFile, name: str) -> pa.Table:
    try:
        # One thread: Arrow may abort a process that ends while the threads of a read are still running (arrow #34314).
        table = file.read(use_threads=False)
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FlawError(f"{name} is not a readable Parquet file") from error
    return table


def _plain(table: pa.Table, name: str) -> pa.Table:
    """The table with its texts written out, if they are as short as codes are."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            column = table.column(place)
            longest = [pc.max(pc.binary_length(chunk.dictionary)).as_py() or 0 for chunk in column.chunks]
            if max(longest, default=0) > _LONGEST_CODE:
                raise FlawError(f"{name} holds texts that are too long for codes")
            plain = field.with_type(field.type.value_type)
            table = table.set_column(place, plain, column.cast(plain.type))
    return table


def _bytes(table: pa.Table) -> bytes:
    sink: Any = io.BytesIO()
    pq.write_table(table, sink)
    return bytes(sink.getvalue())
