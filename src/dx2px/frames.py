"""Data frames, without a data frame library among the dependencies: pandas or polars, whichever is there.

Frames come in by Arrow's stream interface, which both have, and go out in the library that they came from.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dx2px.errors import InputError

LIBRARIES = ("pandas", "polars")
ARROW = "pyarrow"


def is_frame(value: Any) -> bool:
    """Whether a value is a table with named columns: a data frame, or Arrow's."""
    return hasattr(value, "__arrow_c_stream__") and hasattr(value, "columns")


def library_of(value: Any) -> str | None:
    """The library of a data frame, or `pyarrow`; None for anything else."""
    home = type(value).__module__.partition(".")[0]
    return home if is_frame(value) and home in (*LIBRARIES, ARROW) else None


def as_table(frame: Any) -> pa.Table:
    """A data frame as an Arrow table, without the index of pandas."""
    if library_of(frame) == "pandas":
        return pa.Table.from_pandas(frame, preserve_index=False)
    table = pa.table(frame)
    plain = [
        pa.field(one.name, pa.string()) if pa.types.is_string_view(one.type) else one for one in table.schema
    ]
    return table.cast(pa.schema(plain))  # the text of polars, for which Arrow lacks most functions


def as_frame(columns: Mapping[str, Sequence[Any]] | pa.Table, library: str | None = None) -> Any:
    """A data frame of some columns.

    Args:
        columns: An Arrow table, or columns by name.
        library: `pandas`, `polars` or `pyarrow`. By default the one that is in use, else the one that is installed.

    Raises:
        InputError: Neither library is installed.
    """
    table = columns if isinstance(columns, pa.Table) else pa.table(dict(columns))
    library = library or _at_hand()
    if library == ARROW:
        return table
    return import_module("polars").from_arrow(table) if library == "polars" else table.to_pandas()


def _at_hand() -> str:
    loaded = (name for name in LIBRARIES if name in sys.modules)
    installed = (name for name in LIBRARIES if find_spec(name) is not None)
    found = next(loaded, None) or next(installed, None)
    if found is None:
        raise InputError(
            "A data frame needs pandas or polars, and neither is installed: pip install pandas, or use to_dict()."
        )
    return found


# Arrow loads pandas where that is installed, which takes as long as to score thousands of stays: for `pa.array`, for
# `to_numpy`, and for every number or text that is given to one of its functions. The next functions do without.


def numbers(values: NDArray[Any]) -> pa.Array:
    """An Arrow array of numbers, without a copy."""
    held = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(held.dtype), len(held), [None, pa.py_buffer(held)])


def texts(values: Sequence[str]) -> pa.Array:
    """An Arrow array of texts."""
    held = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, held)]).astype(np.int32)
    return pa.StringArray.from_buffers(len(held), pa.py_buffer(ends), pa.py_buffer(b"".join(held)))


def nothing(kind: pa.DataType) -> pa.Scalar:
    """Null of a type."""
    return pa.nulls(1, kind)[0]


def filled(column: pa.Array | pa.ChunkedArray, number: int) -> NDArray[Any]:
    """The numbers of a column, and this one where it has none."""
    value = numbers(np.array([number], column.type.to_pandas_dtype()))[0]
    return held_numbers(column.fill_null(value))


def held_numbers(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """The numbers of a column that has no nulls, without a copy if it is in one piece."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    found: NDArray[Any] = np.frombuffer(whole.buffers()[1] or b"", whole.type.to_pandas_dtype())
    return found[whole.offset : whole.offset + len(whole)]
