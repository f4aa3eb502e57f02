"""What `prepare` needs of an engine: that it runs Ibis expressions and changes nothing that belongs to the user."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa

from dx2px.errors import CohortError

BATCH_ROWS = 65_536
FILE_ROW, FILE_NAME = "file_row_number", "filename"


class Engine(ABC):
    """An open connection. Text is compared by its bytes, whatever the collation of the database."""

    one_snapshot = False  # whether all queries see the same rows, even if others write in the meantime

    def __init__(self, connection: Any, place: str) -> None:
        self.connection = connection  # an Ibis backend
        self.place = place  # its name in messages; never holds a password

    def has_files(self, path: str) -> bool:
        """Whether `path` means files that this engine can read, rather than a schema or table of its own."""
        return False

    def read_parquet(self, path: Path) -> Any:
        """The Parquet file as an Ibis table."""
        raise self._no_files()

    def read_numbered_parquet(self, path: Path) -> Any:
        """The same, with the number of each row, from 0, in the column FILE_ROW."""
        raise self._no_files()

    def read_shards(self, paths: list[Path]) -> Any:
        """Parquet files as one Ibis table, by the names of their columns, with FILE_ROW and the FILE_NAME of each."""
        raise self._no_files()

    @property
    @abstractmethod
    def default_schema(self) -> str:
        """The schema of tables that are named without one."""

    @abstractmethod
    def tables_of(self, schema: str) -> list[str] | None:
        """The names of the tables in a schema, or None if there is no such schema."""

    def schema_of(self, schema: str, table: str) -> Any:
        """The columns of a table and their Ibis types."""
        return self.connection.table(table, database=schema).schema()

    def read_table(self, schema: str, table: str, columns: list[str]) -> Any:
        """The given columns of a table as an Ibis table."""
        return self.connection.table(table, database=schema).select(columns)

    def lend(self, table: pa.Table) -> Any:
        """Give the engine a small table to join with; it must leave no trace in the user's schemas."""
        return ibis.memtable(table)

    def keep(self, name: str, expression: Any) -> Any:
        """The expression's result, stored until `close` if the engine can do so without writing to the user's data."""
        return expression

    def batches(self, expression: Any) -> Iterator[pa.RecordBatch]:
        """The rows of an expression, in its order, in batches; never all in memory."""
        yield from self.connection.to_pyarrow_batches(expression, chunk_size=BATCH_ROWS)

    def fetch(self, expression: Any) -> pa.Table:
        """All rows of a small result."""
        schema = expression.schema().to_pyarrow()
        return pa.Table.from_batches([batch.cast(schema) for batch in self.batches(expression)], schema)

    def value(self, expression: Any) -> Any:
        """The value of a scalar expression."""
        return self.fetch(expression.name("value").as_table()).column("value")[0].as_py()

    @contextmanager
    def plain_errors(self) -> Iterator[None]:
        """Turn the engine's own errors into one plain sentence each, without the rows or secrets they may quote."""
        yield

    @abstractmethod
    def close(self) -> None:
        """End the connection and drop what was stored."""

    def _no_files(self) -> CohortError:
        return CohortError(f"{self.place} cannot read files of this machine; use the engine duckdb.")
