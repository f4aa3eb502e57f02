"""Who had the stays: age, sex, type of admission and principal diagnosis, as the codes suggest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.lab.synthetic.sense import ADMISSIONS, named
from dx2px.lab.synthetic.urn import Floats, Ints
from dx2px.lab.synthetic.world import World
from dx2px.ragged import Ragged

ADULT, DELIVERY, NEWBORN = 0, 1, 2  # the realms
USUAL = np.array([64.0, 28.0, 0.0])  # age where no diagnosis suggests one, by realm
SPREAD = np.array([12.0, 5.0, 0.0])
YOUNGEST, OLDEST = np.array([18, 18, 0]), np.array([99, 47, 0])
AS_USUAL = 0.85  # share of the stays that begin as their principal diagnosis suggests; the others are urgent
NEVER_PRINCIPAL = "V05 V09 V27 V29 V45 V50 V586"
BOYS = ("icd9cm:V502", "icd9pcs:640")  # circumcision


@dataclass(frozen=True, eq=False)
class Persons:
    """One entry per stay."""

    age: Ints
    female: NDArray[np.bool_]
    principal: Ints  # index of the diagnosis
    admission: Ints  # place in ADMISSIONS

    def head(self, stays: int) -> Persons:
        """The first stays."""
        return Persons(self.age[:stays], self.female[:stays], self.principal[:stays], self.admission[:stays])


def draw_persons(
    rng: np.random.Generator, world: World, realm: Ints, first: Ints, diagnoses: Ragged, procedures: Ragged
) -> Persons:
    """Age and sex are the same in all stays of a patient."""
    age = _ages(rng, world, realm, first, diagnoses)
    female = (rng.random(len(realm)) < 0.5) | (realm == DELIVERY)
    words = world.words
    for codes, of, boy in zip(
        (diagnoses, procedures), (words.diagnoses, words.procedures), BOYS, strict=True
    ):
        female[codes.row_of_entry[codes.values == of.get(boy)]] = False
    principal = _principals(world, diagnoses)
    usual = words.usual.admission[principal]
    usual = np.where(usual >= 0, usual, np.array([0, 1, 3])[realm])
    otherwise = (rng.random(len(realm)) > AS_USUAL) & (realm != NEWBORN)
    return Persons(age, female[first], principal, np.where(otherwise, ADMISSIONS.index("urgent"), usual))


def _ages(rng: np.random.Generator, world: World, realm: Ints, first: Ints, diagnoses: Ragged) -> Ints:
    """About the mean of the ages that the patient's diagnoses suggest, and no less than they need."""
    patient, usual = first[diagnoses.row_of_entry], world.words.usual
    suggested = usual.age[diagnoses.values]
    says = ~np.isnan(suggested)
    number = np.bincount(patient[says], minlength=len(realm))
    total = np.bincount(patient[says], suggested[says], minlength=len(realm))
    centre: Floats = np.where(number > 0, total / np.maximum(number, 1), USUAL[realm])
    least = YOUNGEST[realm]
    np.maximum.at(least, patient, usual.least[diagnoses.values])
    age = np.rint(centre + SPREAD[realm] * rng.standard_normal(len(realm)))
    return np.clip(age, least, OLDEST[realm]).astype(np.int64)[first]


def _principals(world: World, diagnoses: Ragged) -> Ints:
    """The diagnosis of each stay that calls for most; of a newborn, its birth."""
    codes = [code.partition(":")[2] for code in world.words.diagnoses]
    weight = world.significance.copy()
    weight[named(NEVER_PRINCIPAL, codes)] = -1.0
    weight[named("V30-V34", codes)] = np.inf
    mine = weight[diagnoses.values]
    order = np.lexsort((-mine, diagnoses.row_of_entry))
    return diagnoses.values[order[diagnoses.offsets[:-1]]].astype(np.int64)
