"""Cohorts from data frames and back. Neither pandas nor polars is imported: a frame offers its columns as Arrow."""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dx2px.codes import Kind, dotted, split
from dx2px.cohort.code_lists import is_canonical
from dx2px.cohort.cohort import Cohort
from dx2px.cohort.file import CODE_LISTS, CohortWriter, cohort_schema
from dx2px.cohort.vocabulary import Vocabulary
from dx2px.errors import CohortError
from dx2px.ragged import Ragged

if TYPE_CHECKING:
    from dx2px.cohort.sources import SourceOptions

Layout = Literal["lists", "wide", "long"]
KINDS: dict[str, Kind] = {"diagnoses": "diagnosis", "procedures": "procedure"}
PREFIXES: dict[Kind, str] = {"diagnosis": "dx", "procedure": "px"}
NAMES = "frame.parquet", "procedures.parquet"  # what messages call the two tables


class Thresholds(TypedDict, total=False):
    """How much of a frame must be usable, as for `prepare`."""

    min_count: int
    repeat_min_count: bool
    strict: bool
    max_rejected: float


class FrameSettings(Thresholds, total=False):
    """What `Cohort.from_arrow` takes besides the frame."""

    procedures: Any
    options: SourceOptions | None


def cohort_of(
    frame: Any,
    *,
    procedures: Any = None,
    options: SourceOptions | None = None,
    **thresholds: Unpack[Thresholds],
) -> Cohort:
    """The cohort in a frame: by `prepare`, or directly if the frame is what `to_arrow` gives."""
    table = _table(frame)
    with tempfile.TemporaryDirectory(prefix="dx2px-") as folder:
        target = Path(folder) / "cohort.parquet"
        if procedures is None and options is None and not thresholds and _is_cohort(table):
            return _as_it_is(_whole_ages(table), target)
        return _prepared(table, procedures, options, target, **thresholds)


def _as_it_is(table: pa.Table, target: Path) -> Cohort:
    with CohortWriter(target, _context(table)) as writer:
        writer.write(table)
    try:
        return Cohort.load(target)
    except CohortError as error:
        raise CohortError(str(error).replace(str(target), "The frame")) from None


def _whole_ages(table: pa.Table) -> pa.Table:
    """Ages as whole numbers: a column with missing ones leaves pandas as floats."""
    if "age" not in table.column_names or not pa.types.is_floating(table.column("age").type):
        return table
    try:
        ages = table.column("age").cast(pa.int32())
    except pa.ArrowInvalid:  # a fraction; loading refuses it
        return table
    return table.set_column(table.column_names.index("age"), "age", ages)


def _prepared(
    table: pa.Table,
    procedures: Any,
    options: SourceOptions | None,
    target: Path,
    **thresholds: Unpack[Thresholds],
) -> Cohort:
    from dx2px.cohort.preparation import prepare
    from dx2px.cohort.sources import SourceOptions

    options = options or SourceOptions()
    first, second = (target.with_name(name) for name in NAMES)
    pq.write_table(table, first)
    if procedures is not None:
        pq.write_table(_table(procedures), second)
        options = replace(options, procedures_file=str(second))
    try:
        prepared = prepare("table", first, target, options=options, **thresholds)
    except CohortError as error:
        raise CohortError(_of_frames(str(error))) from None
    for warning in prepared.warnings:
        warnings.warn(warning, stacklevel=4)  # where the user made the cohort
    cohort = Cohort.load(target)
    settings = {
        key: value for key, value in cohort.provenance["settings"].items() if key != "procedures_file"
    }
    return replace(
        cohort, provenance={**cohort.provenance, "settings": settings, "notes": list(prepared.notes)}
    )


def _of_frames(message: str) -> str:
    """A message on the files that frames were written to, as one on the frames."""
    named = message.replace(NAMES[0], "the frame").replace(NAMES[1], "the frame of procedures")
    return named[:1].upper() + named[1:]


def _table(frame: Any) -> pa.Table:
    """The frame's columns as Arrow. A pandas index counts as a column if it has a name."""
    if hasattr(frame, "reset_index"):
        named = [name for name in frame.index.names if name is not None]
        frame = frame.reset_index() if named else frame.reset_index(drop=True)
    try:
        table = pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError):
        raise CohortError(_problem(frame)) from None
    return _plain(table)


def _problem(frame: Any) -> str:
    mixed = [str(name) for name in getattr(frame, "columns", ()) if not _has_one_type(frame, name)]
    if mixed:
        return f"The frame's column {' and '.join(mixed)} holds values of several types; make them text."
    return "A frame is an Arrow table, a pandas or polars data frame, or another object that offers Arrow columns."


def _has_one_type(frame: Any, name: Any) -> bool:
    try:
        pa.array(frame[name])
    except (pa.ArrowException, TypeError, ValueError):
        return False
    return True


def _plain(table: pa.Table) -> pa.Table:
    """The same table with text as every reader of Parquet knows it: polars gives views, and categories of views."""
    if len(set(table.column_names)) < table.num_columns:
        raise CohortError("The frame has several columns of the same name; rename them.")
    table = pa.table({name: _written_out(table.column(name)) for name in table.column_names})
    return table.cast(pa.schema([field.with_type(_known_type(field.type)) for field in table.schema]))


def _written_out(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_dictionary(column.type):
        return column
    parts = [
        part.dictionary.cast(_known_type(part.dictionary.type)).take(part.indices) for part in column.chunks
    ]
    return pa.chunked_array(parts, _known_type(column.type.value_type))


def _known_type(kind: pa.DataType) -> pa.DataType:
    if _is_list(kind):
        return pa.list_(_known_type(kind.value_type))
    return pa.string() if pa.types.is_string_view(kind) else kind


def _is_cohort(table: pa.Table) -> bool:
    """Whether the table has the columns of a cohort file, with canonical codes in its lists."""
    needed = {"stay_id", "patient_id", *CODE_LISTS}
    if not needed <= set(table.column_names) or not all(
        _is_list(table.schema.field(n).type) for n in CODE_LISTS
    ):
        return False
    codes = {kind: pc.list_flatten(table.column(name)).unique().to_pylist() for name, kind in KINDS.items()}
    return all(code and is_canonical(str(code), kind) for kind, found in codes.items() for code in found)


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _context(table: pa.Table) -> pa.Schema:
    """The columns beyond those that every cohort has."""
    every = cohort_schema().names
    return pa.schema([field for field in table.schema if field.name not in every])


def arrow_of(cohort: Cohort, lists: pa.Table, layout: Layout) -> pa.Table:
    """The stays in one of the layouts; `lists` are their columns as in the file."""
    if layout == "lists":
        return lists
    about = lists.drop_columns(list(CODE_LISTS))
    kinds = {
        "diagnosis": (cohort.diagnoses, cohort.diagnosis_vocabulary),
        "procedure": (cohort.procedures, cohort.procedure_vocabulary),
    }
    if layout == "wide":
        columns = [_wide(*found, PREFIXES[kind]) for kind, found in kinds.items()]  # type: ignore[index]
        for name, column in (item for part in columns for item in part.items()):
            about = about.append_column(name, column)
        return about
    if layout == "long":
        return pa.concat_tables(_long(about, kind, *found) for kind, found in kinds.items())
    raise CohortError(f"There is no layout {layout!r}; choose lists, wide or long.")


def _wide(lists: Ragged, vocabulary: Vocabulary, prefix: str) -> dict[str, pa.Array]:
    """The nth code of every stay as column n, null where a stay has fewer."""
    codes = pa.array(vocabulary.codes, pa.string())
    starts, lengths = lists.offsets[:-1], lists.lengths
    columns = {}
    for place in range(int(lengths.max(initial=0))):
        there = lengths > place
        numbers = lists.values[np.where(there, starts + place, 0)]
        columns[f"{prefix}{place + 1}"] = codes.take(pa.array(numbers, mask=~there))
    return columns


def _long(about: pa.Table, kind: str, lists: Ragged, vocabulary: Vocabulary) -> pa.Table:
    """A row per code, in the order of the stays."""
    rows = about.take(pa.array(np.repeat(np.arange(len(lists)), lists.lengths)))
    numbers = pa.array(lists.values)
    systems = pa.array([split(code)[0].value for code in vocabulary], pa.string())
    shown = pa.array([dotted(code) for code in vocabulary], pa.string())
    rows = rows.append_column("kind", pa.array([kind] * len(rows), pa.string()))
    rows = rows.append_column("system", systems.take(numbers))
    return rows.append_column("code", shown.take(numbers))
