"""How a source reads its tables, whether they are files or tables of a database.

A *table* here is a handle with a `name`: the path of a file, or the name of a database table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import ibis

from dx2px.cohort.engines import Engine
from dx2px.cohort.text_tables import Staged
from dx2px.errors import CohortError

SHOWN_COLUMNS = 20
WHOLE_DECIMAL = r"^-?[0-9]+(\.0*)?$"
EXACT = {2: 2**11, 4: 2**24, 8: 2**53}  # by the bytes of a float: up to here it holds every whole number


class Tables(ABC):
    """Finds tables by name and reads their columns, with the line number of each row if it has one."""

    endings = ""  # for messages: the endings that a table's file may have
    numbered = True  # whether rows have line numbers

    def __init__(self, engine: Engine, place: str) -> None:
        self.engine, self.place = engine, place
        self.staged: dict[Path, Staged] = {}  # what happened to the lines of each text file
        self.files: list[Path] = []  # the files that were read
        self.numeric: set[tuple[str, str]] = set()  # (table, column) stored as numbers

    @abstractmethod
    def find(self, name: str) -> Any | None:
        """The table `name`, in upper or lower case, or None."""

    @abstractmethod
    def matching(self, pattern: str) -> list[Any]:
        """The tables whose name matches the pattern, or the one table that the user named."""

    @property
    @abstractmethod
    def single(self) -> Any | None:
        """The one table that the user named, or None if the user named a folder or schema."""

    @abstractmethod
    def second(self, name: str) -> Any:
        """Another table that the user named."""

    @abstractmethod
    def columns(self, table: Any) -> dict[str, Any]:
        """Column names in lower case, with their Ibis type."""

    def has_columns(self, table: Any) -> str:
        """For messages: `it has` and the names of the columns, or their number where the names may be a record."""
        names = list(self.columns(table))
        more = f" and {len(names) - SHOWN_COLUMNS:,} more" if len(names) > SHOWN_COLUMNS else ""
        return f"it has {', '.join(names[:SHOWN_COLUMNS])}{more}"

    @abstractmethod
    def rows(self, table: Any) -> int:
        """The number of rows that `read` gives."""

    @abstractmethod
    def _read(self, table: Any, wanted: list[str]) -> Any:
        """The wanted columns, as text, whole numbers or lists, after a `line` column."""

    def enter(self, inner: str) -> None:  # noqa: B027  a database has no folders to enter
        """Look in the folder `inner` from now on, if it exists."""

    def need(self, *names: str) -> list[Any]:
        """All these tables; an error names all that are missing."""
        tables = {name: self.find(name) for name in names}
        missing = [name for name, table in tables.items() if table is None]
        if missing:
            raise CohortError(f"{self.place} has no {' and no '.join(missing)} table{self.endings}.")
        return list(tables.values())

    def read(self, table: Any, required: Sequence[str], optional: Iterable[str] = ()) -> Any:
        """The table with a `line` column, the required columns, and the optional ones that it has."""
        have = self.columns(table)
        missing = [name for name in required if name not in have]
        if missing:
            raise CohortError(
                f"{table.name} has no column {' and no column '.join(missing)}; {self.has_columns(table)}."
            )
        return self._read(table, [*required, *(n for n in optional if n in have and n not in required)])

    def read_fixed_width(self, table: Any, width: int, columns: dict[str, slice]) -> Any:
        """The slices of a fixed-width file as columns."""
        raise CohortError(
            "This source is a fixed-width text file, which only the engines duckdb and spark can read."
        )

    def as_written(self, table: Any, name: str, column: Any) -> Any:
        """A column of any type as text, whole numbers or lists; number columns are noted, for the repair of codes."""
        kind = column.type()
        if kind.is_numeric():
            self.numeric.add((table.name, name))
        if kind.is_integer():
            return column.cast("string" if kind.is_uint64() else "int64")
        if kind.is_floating():
            return self._float_as_written(column)
        text = column if kind.is_array() else column.cast("string")
        if kind.is_decimal() and self._all(text.re_search(WHOLE_DECIMAL)):
            return text.re_replace(r"\.0*$", "")
        return text

    def _float_as_written(self, column: Any) -> Any:
        """A float must not become the text '142345.0'. One that is not finite, or too large to be exact, is missing."""
        kind = column.type()
        usable = ~column.isnan() & (column.abs() <= EXACT[kind.nbytes])
        known = ibis.ifelse(usable, column, ibis.null(kind))
        return known.cast("int64" if self._all(known == known.round()) else "string")

    def _all(self, condition: Any) -> bool:
        """Whether a condition holds in every row where it is not null."""
        return self.engine.value(condition.all()) is not False
