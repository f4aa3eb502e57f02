"""Data frames, without a data frame library among the dependencies: pandas or polars, whichever is there.

Frames come in by Arrow's stream interface, which both have, and go out in the library that they came from.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pyarrow as pa

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
