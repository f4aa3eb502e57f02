"""The ids of JWTs that were used, so that none is used twice: in memory, or in a file that several workers share."""

from __future__ import annotations

import sqlite3
import weakref
from functools import cached_property
from pathlib import Path

_MOST = 100_000  # ids remembered


class UsedIds:
    """What has been used, until it expires.

    Args:
        folder: What the workers share; one process alone needs none.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._place = ":memory:" if folder is None else str(folder / "used-ids.sqlite")

    def use(self, issuer: str, jwt_id: str, ends: float, now: float) -> bool:
        """Note an id as used until it `ends`, and return True; False if it was used before."""
        with self._base as base:
            base.execute("BEGIN IMMEDIATE")
            base.execute("DELETE FROM used WHERE ends < ?", (now,))
            base.execute("DELETE FROM used WHERE rowid <= (SELECT max(rowid) FROM used) - ?", (_MOST - 1,))
            done = base.execute("INSERT OR IGNORE INTO used VALUES (?, ?, ?)", (issuer, jwt_id, ends))
            return done.rowcount == 1

    @cached_property
    def _base(self) -> sqlite3.Connection:
        """Opened on first use: a connection must not pass from a process to its workers."""
        base = sqlite3.connect(self._place, timeout=5, isolation_level=None, check_same_thread=False)
        weakref.finalize(self, base.close)
        base.execute("PRAGMA synchronous = OFF")  # nothing here outlives the service
        base.execute("CREATE TABLE IF NOT EXISTS used (issuer TEXT, id TEXT, ends REAL, UNIQUE (issuer, id))")
        base.execute("CREATE INDEX IF NOT EXISTS by_end ON used (ends)")
        return base
