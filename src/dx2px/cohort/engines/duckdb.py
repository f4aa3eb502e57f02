"""DuckDB, in this process: for files (the default), or for the tables of a DuckDB file, opened read-only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pyarrow.parquet as pq

from dx2px.cohort.engines.engine import FILE_NAME, FILE_ROW, Engine
from dx2px.errors import CohortError

MEMORY_LIMIT = "2GB"
SPOOLED = (
    "events",
    "entries",
    "judged",
)  # the largest: kept in files, of which later steps read single columns


def connect(url: str, workspace: Path) -> DuckDB:
    """`duckdb` reads files; `duckdb:///path/file.duckdb` reads the tables of a DuckDB file."""
    file = url.partition("://")[2]
    # Every step that needs an order states it; preserving the order of the files would cost memory.
    settings = {
        "memory_limit": MEMORY_LIMIT,
        "temp_directory": str(workspace),
        "preserve_insertion_order": False,
    }
    if not file:
        return DuckDB(ibis.duckdb.connect(**settings), "DuckDB", workspace)
    if not Path(file).is_file():
        raise CohortError(f"There is no DuckDB file {file}.")
    try:
        connection = ibis.duckdb.connect(file, read_only=True, **settings)
    except duckdb.Error:
        raise CohortError(
            f"{file} cannot be opened: it is not a DuckDB file, or another process is using it."
        ) from None
    return DuckDB(connection, file, workspace, of_files=False)


class DuckDB(Engine):
    """DuckDB stores intermediate results in temporary tables, and the largest ones in files."""

    one_snapshot = True

    def __init__(self, connection: Any, place: str, workspace: Path, *, of_files: bool = True) -> None:
        super().__init__(connection, place)
        self.workspace, self.of_files = workspace, of_files

    def has_files(self, path: str) -> bool:
        return self.of_files

    def read_parquet(self, path: Path) -> Any:
        return self.connection.read_parquet(path)

    def read_numbered_parquet(self, path: Path) -> Any:
        return self.connection.read_parquet(path, **{FILE_ROW: True})

    def read_shards(self, paths: list[Path]) -> Any:
        numbered = {FILE_ROW: True, FILE_NAME: True, "union_by_name": True}
        return self.connection.read_parquet(paths, **numbered)

    @property
    def default_schema(self) -> str:
        return "main"

    def tables_of(self, schema: str) -> list[str] | None:
        if schema not in self.connection.list_databases():
            return None
        tables: list[str] = self.connection.list_tables(database=schema)
        return tables

    def keep(self, name: str, expression: Any) -> Any:
        if name not in SPOOLED:
            return self.connection.create_table(name, expression, temp=True)
        target = self.workspace / f"{name}.parquet"
        schema = expression.schema().to_pyarrow()
        # Not by DuckDB's own COPY: Ctrl-C in the middle of one can abort the process.
        with pq.ParquetWriter(target, schema, compression="lz4") as writer:
            for batch in self.batches(expression):
                writer.write_batch(batch.cast(schema))
        return self.connection.read_parquet(target)

    @contextmanager
    def plain_errors(self) -> Iterator[None]:
        try:
            yield
        except duckdb.OutOfMemoryException:
            raise CohortError(
                f"DuckDB ran out of memory (its limit is {MEMORY_LIMIT}) or of disk space for temporary files."
            ) from None
        except (duckdb.Error, RuntimeError) as error:
            if isinstance(error, duckdb.InterruptException) or str(error) == "Query interrupted":
                raise KeyboardInterrupt from None  # what DuckDB makes of Ctrl-C
            if not isinstance(error, duckdb.Error):
                raise
            raise CohortError(_sentence(error)) from None

    def close(self) -> None:
        self.connection.con.interrupt()  # after Ctrl-C a query may still be running, and closing would wait for it
        self.connection.disconnect()


def _sentence(error: duckdb.Error) -> str:
    """What went wrong, in our words: DuckDB's own may quote a cell."""
    if "UTF8" in str(error):
        return "A Parquet file holds text that is not UTF-8; it is damaged, or was written with another encoding."
    kind = type(error).__name__.removesuffix("Exception")
    return (
        f"DuckDB could not read the tables ({kind}); a file may be damaged, or a column has an unusual type."
    )
