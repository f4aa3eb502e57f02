"""PostgreSQL: one read-only transaction on one snapshot; nothing is created, not even temporary tables.

Neither a read-only transaction nor a standby server allows CREATE TEMPORARY TABLE. So our verdicts travel as a setting
of the session, which the queries read back as rows, and intermediate results are common table expressions.
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
PATIENCE = {  # in seconds, but for the count; the user's URL takes precedence
    "connect_timeout": 15,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}
# Every query reads whole tables and joins them by equality. For freshly loaded tables the planner has no statistics: it
# would take them for small and loop over millions of pairs.
PLANNING = {"cursor_tuple_fraction": "1.0", "enable_nestloop": "off"}
PROBLEMS = {  # by SQLSTATE or how it begins; the server's own text may quote rows
    "28000": "does not accept this user from this machine, or only over SSL (see pg_hba.conf)",
    "28": "rejected the user name or password",
    "3D": "has no database with this name",
    "42501": "does not allow this user to read the tables",
    "42P01": "no longer has one of the tables",
    "53": "is out of memory, disk space or connections",
    "57014": "cancelled the query, probably because it took longer than the server allows",
    "57P": "closed the connection",
    "08": "closed the connection",
}
# A refused connection has no SQLSTATE, only the server's words.
REFUSED_BECAUSE = {"password": "28", "pg_hba.conf": "28000", "does not exist": "3D"}


def connect(url: str, workspace: Path) -> Postgres:
    """A read-only session; libpq takes what the URL leaves out from its environment (PGPASSWORD, ~/.pgpass …)."""
    try:
        settings: dict[str, Any] = {**PATIENCE, **conninfo_to_dict(url)}
    except psycopg.Error:
        raise CohortError(
            "The PostgreSQL URL cannot be read; write it as postgresql://user@host:5432/database, and the characters "
            "@ : / % of a password as %40 %3A %2F %25."
        ) from None
    place = _place(settings)
    with _plain_errors(place):
        connection = psycopg.connect(**settings)
        connection.read_only = True
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        # The first of these opens the transaction that all queries share.
        for name, value in PLANNING.items():
            connection.execute(f"SET LOCAL {name} = {value}")
        return Postgres(ibis.postgres.from_connection(connection), place)


class Postgres(Engine):
    """Every query sees the same rows, even if others are written in the meantime."""

    one_snapshot = True

    def __init__(self, connection: Any, place: str) -> None:
        super().__init__(connection, place)
        self.lent = 0  # tables; each has its own setting, since queries read them when they run

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
        """The columns; text is compared by bytes, as on every other engine, whatever the database's collation."""
        types = {name: kind for name, kind in self.schema_of(schema, table).items() if name in columns}
        chosen = ", ".join(_selected(name, kind) for name, kind in types.items())
        query = f"SELECT {chosen} FROM {_quoted(schema)}.{_quoted(table)}"
        return self.connection.sql(query, schema=ibis.schema(types))

    def lend(self, table: pa.Table) -> Any:
        self.lent += 1
        setting = f"{SETTING}{self.lent}"
        self.connection.con.execute(
            "SELECT set_config(%s, %s, false)", (setting, json.dumps(table.to_pylist(), ensure_ascii=False))
        )
        schema = ibis.schema(table.schema)
        kinds = {name: "text" if kind.is_string() else "bigint" for name, kind in schema.items()}
        fields = ", ".join(f"CAST(item ->> '{name}' AS {kind}) AS {name}" for name, kind in kinds.items())
        query = (
            f"SELECT {fields} FROM json_array_elements(CAST(current_setting('{setting}') AS json)) AS item"
        )
        return self.connection.sql(query, schema=schema)

    @contextmanager
    def plain_errors(self) -> Iterator[None]:
        with _plain_errors(self.place):
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
def _plain_errors(place: str) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise CohortError(_sentence(place, error)) from None


def _sentence(place: str, error: psycopg.Error) -> str:
    state = error.sqlstate
    for start, problem in PROBLEMS.items():
        if state is not None and state.startswith(start):
            return f"{place} {problem}."
    if state is not None:
        return f"{place} could not finish the query (error {state})."
    for sign, start in REFUSED_BECAUSE.items():
        if sign in str(error):
            return f"{place} {PROBLEMS[start]}."
    if isinstance(error, psycopg.OperationalError):
        return f"{place} cannot be reached, or the connection was lost; check the host and the port."
    return f"{place} could not finish the query ({type(error).__name__})."
