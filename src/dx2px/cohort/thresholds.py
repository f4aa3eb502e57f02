"""Codes below the minimum count are left out: in one pass, or again until every code that is left has enough stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dx2px.cohort import assembly
from dx2px.cohort.engines import Engine
from dx2px.errors import CohortError


@dataclass(frozen=True)
class Threshold:
    """The minimum count of a code.

    A code that is left out can empty a stay, and that stay no longer counts for its other codes. One pass leaves them
    in, as we read the paper; with `repeat`, they are counted again.
    """

    min_count: int = 1
    repeat: bool = False

    def __post_init__(self) -> None:
        if self.min_count < 1:
            raise CohortError(f"The minimum count must be at least 1, not {self.min_count}.")

    @property
    def settings(self) -> dict[str, Any]:
        """As a cohort file's metadata names them."""
        return {"min_count": self.min_count} | ({"repeat_min_count": True} if self.repeat else {})

    def apply(self, engine: Engine, both: Any) -> Any:
        """The entries of the codes that stay, of the entries of all stays with both kinds of code."""
        kept = engine.keep("kept", assembly.frequent(both, self.min_count))
        dropped: set[int] = set()
        while self.repeat and (short := self._short(engine, assembly.without(kept, dropped))):
            dropped |= short
        return assembly.without(kept, dropped)

    def _short(self, engine: Engine, entries: Any) -> set[int]:
        """The codes that fewer stays have than they should, once stays without both kinds are gone.

        Only numbers of codes leave the engine, so that no round builds on the query of the one before.
        """
        counts = assembly.stays_by_code(assembly.with_both_kinds(entries))
        found = engine.fetch(counts.filter(counts.stays < self.min_count).select("code_id"))
        return set(found.column("code_id").to_pylist())
