"""Fitting probabilities of what else belongs to a stay, given the procedures that are coded already.

The more procedures are coded, the less is left to find. While the method learned, something always was; in earnest
there may be nothing. So of each stay a random number of procedures, perhaps all of them, counts as coded.
"""

from __future__ import annotations

import numpy as np

from dx2px.cohort import Cohort, Ragged
from dx2px.scoring.cohort_evidence import known_of
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.training.fit_correction import Show, Shown, shuffled


def some_coded(layout: EvidenceLayout) -> Show:
    """Shows stays with all their diagnoses and facts, and a random number of their procedures as coded."""

    def show(stays: Cohort, rng: np.random.Generator) -> Shown:
        coded, left = shown_and_left(stays.procedures, rng)
        rows = layout.rows(stays.diagnoses, known_of(layout, stays).with_coded(coded))
        return Shown(rows, coded, coded, left)

    return show


def shown_and_left(procedures: Ragged, rng: np.random.Generator) -> tuple[Ragged, Ragged]:
    """Of each stay a random number of its procedures, from one to all, and the others."""
    number = 1 + np.floor(rng.random(len(procedures)) * procedures.lengths).astype(np.int64)
    mixed, first = shuffled(procedures, number, rng)
    return mixed.filtered(first), mixed.filtered(~first)
