"""Whom a code is for: codes of one sex, of pregnancy and of birth.

The table, `data/persons.tsv`, has only what a code or a heading above it says by itself. A code that is not there may
be anybody's.
"""

from dataclasses import dataclass
from functools import cache, lru_cache

from dx2px.codes.tables import rows

_BOTH = "-"
_NAMES = {"F": "female patients", "M": "male patients", _BOTH: "patients"}


@dataclass(frozen=True)
class Persons:
    """Those that a code is for."""

    sex: str  # F, M or -
    ages: tuple[int, int] | None  # in whole years, the first and the last

    def has_sex(self, sex: str | None) -> bool:
        """Whether they may be of this sex; one that is not known fits."""
        return sex is None or self.sex in (_BOTH, sex)

    def has_age(self, age: float | None) -> bool:
        """Whether they may be so old; an age that is not known fits."""
        return age is None or self.ages is None or self.ages[0] <= age < self.ages[1] + 1

    @property
    def named(self) -> str:
        """In words: female patients from 9 to 64 years."""
        if self.ages is None:
            return _NAMES[self.sex]
        first, last = self.ages
        return "newborns" if last == 0 else f"{_NAMES[self.sex]} from {first} to {last} years"


@lru_cache(20_000)
def persons_of(code: str) -> Persons | None:
    """Whom a canonical code is for; None if it may be anybody's, or is none."""
    system, _, bare = code.partition(":")
    found = (
        persons for first, last, persons in _table().get(system, ()) if first <= bare[: len(last)] <= last
    )
    return None if "+" in bare else next(found, None)  # a family of several parts may have others among them


@cache
def _table() -> dict[str, list[tuple[str, str, Persons]]]:
    """By system: the first and the last beginning of codes, and whom they are for."""
    table: dict[str, list[tuple[str, str, Persons]]] = {}
    for sex, ages, entries in rows("persons"):
        first, _, last = ages.partition(_BOTH)
        persons = Persons(sex, (int(first), int(last)) if last else None)
        for entry in entries.split():
            system, _, named = entry.partition(":")
            start, _, stop = named.partition(_BOTH)
            table.setdefault(system, []).append((start, stop or start, persons))
    return table
