"""Where the rows of a source are processed: by DuckDB on this machine, or in the database that holds them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from dx2px.cohort.engines.engine import Engine
from dx2px.errors import InputError

ENGINES = {
    "duckdb": "duckdb",
    "postgres": "postgres",
    "postgresql": "postgres",
    "bigquery": "bigquery",
    "spark": "spark",
}


def open_engine(url: str, workspace: Path) -> Engine:
    """The engine that a URL names; `workspace` is a folder for its temporary files.

    The URL may hold a password, so no message repeats it.
    """
    scheme = url.partition("://")[0].lower()
    if scheme not in ENGINES:
        raise InputError(
            "This is not an engine that dx2px knows; use duckdb, duckdb:///file.duckdb, "
            "postgresql://user@host/database, bigquery://project or spark."
        )
    module = import_module(f"{__name__}.{ENGINES[scheme]}")
    engine: Engine = module.connect(url, workspace)
    return engine


__all__ = ["ENGINES", "Engine", "open_engine"]
