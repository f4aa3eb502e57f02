"""The Parquet files of a model folder, as bytes: vocabulary, history, split."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
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


def vocabulary_bytes(codes: Sequence[Sequence[str]], counts: Sequence[Counts]) -> bytes:
    """Diagnoses, then procedures, one row per code."""
    parts = zip(KINDS, codes, counts, strict=True)
    return _bytes(pa.concat_tables([_vocabulary_part(*part) for part in parts]))


def read_vocabulary(data: bytes, name: str) -> tuple[list[tuple[str, ...]], list[Counts]]:
    """Codes and counts of the diagnoses, then of the procedures; counts are None if the file has none."""
    table = _table(data, name)
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
    history = _table(data, name)
    _check_history(history, name)
    return history


def check_split(data: bytes, name: str) -> None:
    """One column of small numbers: the part of each stay."""
    if _table(data, name).schema.remove_metadata() != pa.schema([("part", pa.int16())]):
        raise FlawError(f"{name} is not a saved split")


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
    types = [field.type for field in history.schema]
    plain = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    if not all(any(is_(type_) for is_ in plain) for type_ in types):
        raise FlawError(f"{name} holds columns that are not numbers")


def _table(data: bytes, name: str) -> pa.Table:
    try:
        # One thread: Arrow may abort a process that ends while the threads of a read are still running (arrow #34314).
        table = pq.ParquetFile(io.BytesIO(data)).read(use_threads=False)
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FlawError(f"{name} is not a readable Parquet file") from error
    return table


def _bytes(table: pa.Table) -> bytes:
    sink: Any = io.BytesIO()
    pq.write_table(table, sink)
    return bytes(sink.getvalue())
