"""What happened to every entry of a source.

entries read = rejected + used
entries used + added by combinations, where one procedure was translated into several
             = other ICD version + repeated in their stay + in stays without both kinds of code
               + codes below the minimum count + in stays that this left without a kind + kept
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Counts:
    """What happened to every entry and every stay."""

    entries_read: int
    rejected: dict[str, int]
    entries_used: int
    repaired: int
    corrected: int
    corrected_stays: int
    unlisted: int
    other_version: int
    combined: int
    repeated: int
    without_both_kinds: int
    rare: int
    emptied: int
    kept: int
    stays_read: int
    stays_with_both_kinds: int
    stays: int
    diagnoses: int
    procedures: int

    def check(self) -> None:
        """No entry is lost and none is counted twice; anything else is a bug in dx2px."""
        rejected = sum(self.rejected.values())
        parts = (
            self.other_version
            + self.repeated
            + self.without_both_kinds
            + self.rare
            + self.emptied
            + self.kept
        )
        if self.entries_read != rejected + self.entries_used or self.entries_used + self.combined != parts:
            raise AssertionError(f"entries do not add up: {self}")


@dataclass(frozen=True)
class Prepared:
    """What a preparation wrote and counted.

    Attributes:
        path: The cohort file.
        rejects_path: The file of rejected entries.
        counts: What happened to every entry and every stay.
        notes: What was guessed or assumed, in sentences for the user.
        warnings: What looks wrong, in sentences for the user.
    """

    path: Path
    rejects_path: Path
    counts: Counts
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
