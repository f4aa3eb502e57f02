"""Drawing stays, a block at a time, with the cause of every procedure.

A stay has a set D of diagnoses. During the stay each of them calls for procedures at random moments: diagnosis d for
procedure p at the rate h · λ_dp, with h the intensity of the stay. Calls without a diagnosis, at the rate h · ε_p of
the stay's realm, make unexplained procedures. The first call for p is answered and is the cause of p; later calls for p
change nothing. A stay without any call lasts until its first one. A stay has at most 40 procedures.

The calls for p are a superposition of independent Poisson processes. Which of them made the first call is therefore
independent of when it came, of h, and of all other procedures:

    P(cause of p = d | D, all procedures of the stay) = λ_dp / (Σ_{d' ∈ D} λ_d'p + ε_p)

and the same with ε_p as the numerator for "unexplained". This is exact, also under the two limits (at least one
procedure, at most 40), because they depend on which procedures came when, not on who called.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.lab.synthetic.comorbidity import SPREAD, Pool
from dx2px.lab.synthetic.config import MOST_DIAGNOSES, MOST_PROCEDURES
from dx2px.lab.synthetic.persons import Persons, draw_persons
from dx2px.lab.synthetic.relation import INTENSITY
from dx2px.lab.synthetic.urn import Floats, Ints, stratified
from dx2px.lab.synthetic.world import STAYS, World, generator
from dx2px.ragged import Ragged, offsets_of

BLOCK = 8_192  # stays per block; fixed, since the seed determines whole blocks
RETURNING = 0.25  # chance that an adult's stay is followed by another one of the same patient
UNEXPLAINED = -1
ADULT = 0


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive stays; indices are those of the world's vocabularies."""

    start: int  # number of the first stay
    first: Ints  # (n,) number of the first stay of the same patient
    persons: Persons
    diagnoses: Ragged
    procedures: Ragged
    place: NDArray[np.int16]  # (procedure entries,) place of the cause among the stay's diagnoses, or −1

    def head(self, stays: int) -> Block:
        """The first stays of the block."""
        if stays >= len(self.first):
            return self
        return Block(
            self.start,
            self.first[:stays],
            self.persons.head(stays),
            _head(self.diagnoses, stays),
            _head(self.procedures, stays),
            self.place[: self.procedures.offsets[stays]],
        )


def draw_block(world: World, seed: int, number: int) -> Block:
    """Block `number` of the endless sequence of stays that world and seed define."""
    rng = generator(seed, STAYS, number)
    group = world.comorbidity.groups.draw(
        np.zeros(BLOCK, np.int64), stratified(rng, np.zeros(BLOCK, np.int64))
    )
    realm = world.comorbidity.realm_of_group[group]
    first = _patients(rng, realm)
    diagnoses = _diagnoses(rng, world, group, realm, first)
    procedures, place = _procedures(rng, world, realm, diagnoses)
    persons = draw_persons(rng, world, realm, first, diagnoses, procedures)
    start = number * BLOCK
    return Block(start, start + first, persons, diagnoses, procedures, place)


def posterior(world: World, diagnoses: Ragged, procedures: Ragged) -> tuple[Ints, NDArray[np.float32]]:
    """For each procedure entry the posterior of each of the stay's diagnoses, then of "unexplained".

    Returns row boundaries (one row per procedure entry, one longer than the stay's diagnoses) and values.
    """
    row = procedures.row_of_entry
    width = diagnoses.lengths[row] + 1
    offsets = offsets_of(width)
    entry = np.repeat(np.arange(len(row)), width)
    column = np.arange(offsets[-1]) - offsets[entry]
    rates = np.empty(offsets[-1])
    last = offsets[1:] - 1
    d = diagnoses.values[np.minimum(diagnoses.offsets[row][entry] + column, len(diagnoses.values) - 1)]
    rates[:] = world.strength[d, procedures.values[entry]]
    realm = world.words.realm[diagnoses.values[diagnoses.offsets[:-1]]]
    rates[last] = world.relation.background[realm[row], procedures.values]
    totals = np.add.reduceat(rates, offsets[:-1])
    nobody = (
        totals == 0
    )  # neither a diagnosis nor the background calls for it: a stay that lasted until its first call
    rates[last[nobody]] = totals[nobody] = 1.0
    return offsets, (rates / totals[entry]).astype(np.float32)


def _head(ragged: Ragged, rows: int) -> Ragged:
    return Ragged(ragged.offsets[: rows + 1], ragged.values[: ragged.offsets[rows]])


def _patients(rng: np.random.Generator, realm: Ints) -> Ints:
    """For each stay the first stay of its patient. Mothers and newborns have one stay."""
    adult = realm == ADULT
    again = rng.random(len(realm)) < RETURNING
    again &= adult & np.append(False, adult[:-1])
    return np.maximum.accumulate(np.where(again, 0, np.arange(len(realm))))


def _diagnoses(rng: np.random.Generator, world: World, group: Ints, realm: Ints, first: Ints) -> Ragged:
    """Acute diagnoses of each stay, then the chronic ones of its patient; each code once, and one of each kind."""
    acute = _drawn(rng, world.comorbidity.acute, group, realm, sure=1)
    chronic = _drawn(rng, world.comorbidity.chronic, group, realm, sure=0).take(first)
    row = np.concatenate([acute.row_of_entry, chronic.row_of_entry])
    code = np.concatenate([acute.values, chronic.values])
    order = np.argsort(row, kind="stable")
    order = order[_one_of_each_kind(world, row[order], code[order])]
    kept = order[_first_of_each(row[order], code[order], MOST_DIAGNOSES)]
    return Ragged(offsets_of(np.bincount(row[kept], minlength=len(group))), code[kept].astype(np.int32))


def _one_of_each_kind(world: World, row: Ints, code: Ints) -> NDArray[np.bool_]:
    """Which diagnoses of the rows remain if only the rarest of a kind does; rows are sorted."""
    kinds = world.words.kind.max() + 1
    kind, rarity = world.words.kind[code], world.comorbidity.intended[code]
    rarest = np.full((row[-1] + 1, kinds), np.inf)
    np.minimum.at(rarest, (row[kind >= 0], kind[kind >= 0]), rarity[kind >= 0])
    kept: NDArray[np.bool_] = (kind < 0) | (rarity == rarest[row, kind])
    return kept


def _drawn(rng: np.random.Generator, pool: Pool, group: Ints, realm: Ints, sure: int) -> Ragged:
    """Draws from a pool for every stay, repeats included; `sure` of them are certain."""
    more = np.maximum(pool.draws[realm] - sure, 0.0)
    number = sure + rng.poisson(more * rng.gamma(SPREAD, 1 / SPREAD, len(realm)))
    row = np.repeat(np.arange(len(realm)), number)
    own = rng.random(len(row)) < pool.own_chance[group[row]]
    code = np.empty(len(row), np.int32)
    for urns, urn, mine in ((pool.own, group, own), (pool.realm, realm, ~own)):
        named = urn[row[mine]]
        code[mine] = urns.draw(named, stratified(rng, named))
    return Ragged(offsets_of(number), code)


def _procedures(
    rng: np.random.Generator, world: World, realm: Ints, diagnoses: Ragged
) -> tuple[Ragged, NDArray[np.int16]]:
    """The procedures of each stay in the order of their first calls, and the place of each one's cause."""
    n = len(diagnoses)
    caller, row = _callers(rng, world, realm, diagnoses)
    u = rng.random(len(caller))
    explained = caller != UNEXPLAINED
    code = np.empty(len(caller), np.int64)
    code[explained] = world.calls.draw(diagnoses.values[caller[explained]].astype(np.int64), u[explained])
    code[~explained] = world.unexplained.draw(realm[row[~explained]], u[~explained])
    order = np.lexsort((rng.random(len(row)), row))  # the moments of the calls
    kept = order[_first_of_each(row[order], code[order], MOST_PROCEDURES)]
    place = np.where(explained[kept], caller[kept] - diagnoses.offsets[row[kept]], UNEXPLAINED)
    procedures = Ragged(offsets_of(np.bincount(row[kept], minlength=n)), code[kept].astype(np.int32))
    return procedures, place.astype(np.int16)


def _callers(rng: np.random.Generator, world: World, realm: Ints, diagnoses: Ragged) -> tuple[Ints, Ints]:
    """The calling diagnosis entry (or −1) and the stay of every call."""
    n, row = len(diagnoses), diagnoses.row_of_entry
    intensity = rng.gamma(INTENSITY, 1 / INTENSITY, n)
    rate = world.significance[diagnoses.values]
    nobody = world.relation.background.sum(axis=1)[realm]
    calls = rng.poisson(rate * intensity[row])
    unexplained = rng.poisson(nobody * intensity)
    caller = np.repeat(np.arange(len(row)), calls)
    stay = np.concatenate([row[caller], np.repeat(np.arange(n), unexplained)])
    caller = np.concatenate([caller, np.full(unexplained.sum(), UNEXPLAINED)])
    silent = np.flatnonzero(np.bincount(stay, minlength=n) == 0)
    late = _first_callers(rng, diagnoses, rate, nobody[silent], silent)
    return np.concatenate([caller, late]), np.concatenate([stay, silent])


def _first_callers(
    rng: np.random.Generator, diagnoses: Ragged, rate: Floats, nobody: Floats, stays: Ints
) -> Ints:
    """Who calls first in the given stays: each diagnosis in proportion to its rate, or nobody."""
    running = np.concatenate([[0.0], np.cumsum(rate)])
    start, stop = running[diagnoses.offsets[stays]], running[diagnoses.offsets[stays + 1]]
    goal = start + rng.random(len(stays)) * (stop - start + nobody)
    entry = np.searchsorted(running, goal, side="right") - 1
    return np.where(goal < stop, np.minimum(entry, diagnoses.offsets[stays + 1] - 1), UNEXPLAINED)


def _first_of_each(row: Ints, code: Ints, most: int) -> Ints:
    """Places of the first occurrence of each code in its row, at most so many per row; rows are sorted."""
    key = row * (int(code.max(initial=0)) + 1) + code
    kept: Ints = np.sort(np.unique(key, return_index=True)[1])
    rank = np.arange(len(kept)) - np.searchsorted(row[kept], row[kept])
    return kept[rank < most]
