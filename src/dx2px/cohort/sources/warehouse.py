"""The tables of a database, in a schema under their official names; rows have no line numbers."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import Any

import ibis

from dx2px.cohort.engines import Engine
from dx2px.cohort.sources.source_tables import Tables
from dx2px.cohort.text_tables import LINE
from dx2px.errors import CohortError


@dataclass(frozen=True)
class TableName:
    """A table of a schema, spelled as in the database."""

    schema: str
    name: str


class WarehouseTables(Tables):
    """`path` is a schema (`mimiciii`, `physionet-data.mimiciv_hosp`), or a table (`schema.table`, or `table`)."""

    numbered = False

    def __init__(self, path: str, engine: Engine) -> None:
        super().__init__(engine, f"{path} in {engine.place}")
        self.path = path
        self._tables = self._of_schema(path)
        self._single = None if self._tables else self._table(path)
        if self._tables is None and self._single is None:
            raise CohortError(
                f"There is no schema or table {path} in {engine.place}, or this user cannot see it."
            )

    def find(self, name: str) -> TableName | None:
        if self._single is not None:
            raise CohortError(f"{self.path} is a table; this source needs the schema that holds its tables.")
        return (self._tables or {}).get(name.lower())

    def matching(self, pattern: str) -> list[TableName]:
        if self._single is not None:
            return [self._single]
        tables = self._tables or {}
        found = [tables[name] for name in sorted(tables) if fnmatch.fnmatchcase(name, pattern.lower())]
        if not found:
            raise CohortError(f"{self.place} has no table whose name matches {pattern}.")
        return found

    @property
    def single(self) -> TableName | None:
        return self._single

    def second(self, name: str) -> TableName:
        table = self._table(name)
        if table is None:
            raise CohortError(f"There is no table {name} in {self.engine.place}, or this user cannot see it.")
        return table

    def columns(self, table: TableName) -> dict[str, Any]:
        schema = self.engine.schema_of(table.schema, table.name)
        return {name.lower(): kind for name, kind in schema.items()}

    def rows(self, table: TableName) -> int:
        names = list(self.engine.schema_of(table.schema, table.name))[:1]
        count: int = self.engine.value(self.engine.read_table(table.schema, table.name, names).count())
        return count

    def _read(self, table: TableName, wanted: list[str]) -> Any:
        schema = self.engine.schema_of(table.schema, table.name)
        names = {name.lower(): name for name in schema if name.lower() in wanted}
        rows = self.engine.read_table(table.schema, table.name, list(names.values()))
        columns = {name: self.as_written(table, name, rows[names[name]]) for name in wanted}
        return rows.select(**{LINE: ibis.null().cast("int64")}, **columns)

    def _of_schema(self, schema: str) -> dict[str, TableName] | None:
        """The tables by their name in lower case; of two that differ only in case, the one in lower case."""
        names = self.engine.tables_of(schema)
        if names is None:
            return None
        return {name.lower(): TableName(schema, name) for name in sorted(names)}

    def _table(self, path: str) -> TableName | None:
        """A table by its name, in the schema that the name gives or in the session's own."""
        schema, _, name = path.rpartition(".")
        tables = self._of_schema(schema or self.engine.default_schema)
        return (tables or {}).get(name.lower())
