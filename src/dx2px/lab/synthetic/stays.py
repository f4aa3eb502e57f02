"""Drawing stays, a block at a time, with the cause of every procedure.

A stay has a set D of diagnoses. During the stay each of them calls for procedures at random moments: diagnosis d for
procedure p at the rate h · λ_dp, with h the intensity of the stay. Calls without a diagnosis, at the rate h · ε_p, make
unexplained procedures. The first call for p is answered and is the cause of p; later calls for p change nothing. A stay
without any call lasts until its first one. A stay has at most 40 procedures.

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
from dx2px.lab.synthetic.relation import INTENSITY
from dx2px.lab.synthetic.urn import Floats, Ints, stratified
from dx2px.lab.synthetic.world import STAYS, World, generator
from dx2px.ragged import Ragged, offsets_of

BLOCK = 8_192  # stays per block; fixed, since the seed determines whole blocks
RETURNING = 0.25  # chance that an adult's stay is followed by another one of the same patient
UNEXPLAINED = -1
ADULT, DELIVERY, NEWBORN = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive stays; indices are those of the world's vocabularies."""

    start: int  # number of the first stay
    first: Ints  # (n,) number of the first stay of the same patient
    age: Ints  # (n,)
    female: NDArray[np.bool_]  # (n,)
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
            self.age[:stays],
            self.female[:stays],
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
    procedures, place = _procedures(rng, world, diagnoses)
    age, female = _persons(rng, realm, first)
    circumcision = world.words.procedures.get("icd9pcs:640")
    circumcised = np.isin(np.arange(BLOCK), procedures.row_of_entry[procedures.values == circumcision])
    female[circumcised & (realm == NEWBORN)] = False
    start = number * BLOCK
    return Block(start, start + first, age, female, diagnoses, procedures, place)


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
    rates[last] = world.relation.background[procedures.values]
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


def _persons(rng: np.random.Generator, realm: Ints, first: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Age and sex, the same in all stays of a patient."""
    adult = np.clip(np.rint(64 + 16 * rng.standard_normal(len(realm))), 18, 99)
    mother = np.clip(np.rint(29 + 6 * rng.standard_normal(len(realm))), 15, 49)
    age = np.select([realm == ADULT, realm == DELIVERY], [adult, mother], 0).astype(np.int64)
    female = (rng.random(len(realm)) < 0.5) | (realm == DELIVERY)
    return age[first], female[first]


def _diagnoses(rng: np.random.Generator, world: World, group: Ints, realm: Ints, first: Ints) -> Ragged:
    """Acute diagnoses of each stay, then the chronic ones of its patient; each code once."""
    acute = _drawn(rng, world.comorbidity.acute, group, realm, sure=1)
    chronic = _drawn(rng, world.comorbidity.chronic, group, realm, sure=0).take(first)
    row = np.concatenate([acute.row_of_entry, chronic.row_of_entry])
    code = np.concatenate([acute.values, chronic.values])
    order = np.argsort(row, kind="stable")
    kept = order[_first_of_each(row[order], code[order], MOST_DIAGNOSES)]
    return Ragged(offsets_of(np.bincount(row[kept], minlength=len(group))), code[kept].astype(np.int32))


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
    rng: np.random.Generator, world: World, diagnoses: Ragged
) -> tuple[Ragged, NDArray[np.int16]]:
    """The procedures of each stay in the order of their first calls, and the place of each one's cause."""
    n = len(diagnoses)
    caller, row = _callers(rng, world, diagnoses)
    u = rng.random(len(caller))
    explained = caller != UNEXPLAINED
    code = np.empty(len(caller), np.int64)
    code[explained] = world.calls.draw(diagnoses.values[caller[explained]].astype(np.int64), u[explained])
    code[~explained] = world.unexplained.draw(np.zeros(np.sum(~explained), np.int64), u[~explained])
    order = np.lexsort((rng.random(len(row)), row))  # the moments of the calls
    kept = order[_first_of_each(row[order], code[order], MOST_PROCEDURES)]
    place = np.where(explained[kept], caller[kept] - diagnoses.offsets[row[kept]], UNEXPLAINED)
    procedures = Ragged(offsets_of(np.bincount(row[kept], minlength=n)), code[kept].astype(np.int32))
    return procedures, place.astype(np.int16)


def _callers(rng: np.random.Generator, world: World, diagnoses: Ragged) -> tuple[Ints, Ints]:
    """The calling diagnosis entry (or −1) and the stay of every call."""
    n, row = len(diagnoses), diagnoses.row_of_entry
    intensity = rng.gamma(INTENSITY, 1 / INTENSITY, n)
    rate = world.significance[diagnoses.values]
    nobody = world.relation.background.sum()
    calls = rng.poisson(rate * intensity[row])
    unexplained = rng.poisson(nobody * intensity)
    caller = np.repeat(np.arange(len(row)), calls)
    stay = np.concatenate([row[caller], np.repeat(np.arange(n), unexplained)])
    caller = np.concatenate([caller, np.full(unexplained.sum(), UNEXPLAINED)])
    silent = np.flatnonzero(np.bincount(stay, minlength=n) == 0)
    late = _first_callers(rng, diagnoses, rate, nobody, silent)
    return np.concatenate([caller, late]), np.concatenate([stay, silent])


def _first_callers(
    rng: np.random.Generator, diagnoses: Ragged, rate: Floats, nobody: float, stays: Ints
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
