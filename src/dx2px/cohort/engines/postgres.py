"""PostgreSQL: one read-only transaction on one snapshot, nothing created, not even temporary tables.

A read-only transaction refuses CREATE TEMPORARY TABLE, and so does a standby, so our verdicts travel as a setting
of the session, which the queries read back as rows. Intermediate results are common table expressions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ibis
import psycopg
import pyarrow as pa
from psycopg.conninfo import conninfo_to_dict

from dx2px.cohort.engines.engine import Engine
from dx2px.errors import CohortError

SETTING = "dx2px.lent"
PATIENCE = {  # seconds; a user's URL may say otherwise
    "connect_timeout": 15,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}
# Every query reads its tables to the end and joins them by equality, which the planner cannot know of freshly loaded
# tables: guessing small ones, it would loop over millions of pairs.
PLANNING = {"cursor_tuple_fraction": "1.0", "enable_nestloop": "off"}
SENTENCES = {  # by SQLSTATE or its first two characters; the server's own text may quote rows
    "28000": "does not take this user from this machine, or only by SSL (pg_hba.conf)",
    "28": "refuses this user name or password",
    "3D": "has no database of that name",
    "42501": "does not let this user read the tables",
    "42P01": "has lost one of the tables",
    "53": "is out of memory, room on disk or connections",
    "57014": "stopped the query, which took longer than the server allows",
    "57P": "ended the connection",
    "08": "ended the connection",
}
# While connecting there is no SQLSTATE, only the server's words.
REFUSALS = {"password": "28", "pg_hba.conf": "28000", "does not exist": "3D"}


def connect(url: str, workspace: Path) -> Postgres:
    """A read-only session; what the URL does not say, libpq takes from its environment (PGPASSWORD, ~/.pgpass …)."""
    try:
        settings: dict[str, Any] = {**PATIENCE, **conninfo_to_dict(url)}
    except psycopg.Error:
        raise CohortError(
            "The PostgreSQL URL cannot be read; it looks like postgresql://user@host:5432/database, with signs "
            "such as @ : / % in a password written as %40 %3A %2F %25."
        ) from None
    place = _place(settings)
    with _sentences(place):
        connection = psycopg.connect(**settings)
        connection.read_only = True
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        for (
            name,
            value,
        ) in PLANNING.items():  # the first of these opens the transaction that all queries share
            connection.execute(f"SET LOCAL {name} = {value}")
        return Postgres(ibis.postgres.from_connection(connection), place)


class Postgres(Engine):
    """Every query sees the same rows, however many are written meanwhile."""

    one_snapshot = True

    @property
    def default_schema(self) -> str:
        name: str | None = self.connection.current_database
        return name or "public"

    def tables_of(self, schema: str) -> list[str] | None:
        query = (
            "SELECT c.relname FROM pg_catalog.pg_namespace n LEFT JOIN pg_catalog.pg_class c "
            "ON c.relnamespace = n.oid AND c.relkind IN ('r', 'v', 'm', 'f', 'p') WHERE n.nspname = %s"
        )
        rows = self.connection.con.execute(query, (schema,)).fetchall()
        return [name for (name,) in rows if name is not None] if rows else None

    def read_table(self, schema: str, table: str, columns: list[str]) -> Any:
        """The columns; text ones compare by bytes, as on every other engine, whatever the database's language."""
        types = {name: kind for name, kind in self.schema_of(schema, table).items() if name in columns}
        chosen = ", ".join(_selected(name, kind) for name, kind in types.items())
        query = f"SELECT {chosen} FROM {_quoted(schema)}.{_quoted(table)}"
        return self.connection.sql(query, schema=ibis.schema(types))

    def lend(self, table: pa.Table) -> Any:
        self.connection.con.execute(
            "SELECT set_config(%s, %s, false)", (SETTING, json.dumps(table.to_pylist(), ensure_ascii=False))
        )
        schema = ibis.schema(table.schema)
        kinds = {name: "text" if kind.is_string() else "bigint" for name, kind in schema.items()}
        fields = ", ".join(f"CAST(item ->> '{name}' AS {kind}) AS {name}" for name, kind in kinds.items())
        query = (
            f"SELECT {fields} FROM json_array_elements(CAST(current_setting('{SETTING}') AS json)) AS item"
        )
        return self.connection.sql(query, schema=schema)

    @contextmanager
    def sentences(self) -> Iterator[None]:
        with _sentences(self.place):
            yield

    def close(self) -> None:
        self.connection.con.close()


def _place(settings: dict[str, Any]) -> str:
    known = {name: str(settings[name]) for name in ("host", "port", "dbname") if settings.get(name)}
    where = ":".join(known[name] for name in ("host", "port") if name in known)
    return f"PostgreSQL {where}{'/' + known['dbname'] if 'dbname' in known else ''}".strip()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _selected(name: str, kind: Any) -> str:
    if kind.is_string():
        return f'CAST({_quoted(name)} AS TEXT) COLLATE "C" AS {_quoted(name)}'
    return _quoted(name)


@contextmanager
def _sentences(place: str) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise CohortError(_sentence(place, error)) from None


def _sentence(place: str, error: psycopg.Error) -> str:
    state = error.sqlstate
    for start, sentence in SENTENCES.items():
        if state is not None and state.startswith(start):
            return f"{place} {sentence}."
    if state is not None:
        return f"{place} could not finish the query (error {state})."
    for sign, start in REFUSALS.items():
        if sign in str(error):
            return f"{place} {SENTENCES[start]}."
    if isinstance(error, psycopg.OperationalError):
        return f"{place} cannot be reached, or the connection was lost."
    return f"{place} could not finish the query ({type(error).__name__})."
