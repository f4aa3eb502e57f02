"""Fitting probabilities for a question: the diagnoses that are asked may be a part of those that the stay has.

A method learns from whole stays, in which a diagnosis that is absent says something. Who asks with two diagnoses may
have left out ten. So of each stay a random number of diagnoses is shown, from one to all: one as often as two or three
together, or four to seven, since people ask with few. Every other stay shows nothing else; the others show some of
their facts, too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort import Cohort, Ragged
from dx2px.scoring.cohort_evidence import known_of
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.known import FACTS, Numbers
from dx2px.training.fit_correction import Show, Shown, shuffled

_FACT = 0.5  # share of the facts that are shown, where some are
_PRINCIPAL = FACTS.index("principal")


def some_diagnoses(layout: EvidenceLayout | None) -> Show:
    """Shows stays with a random number of their diagnoses, none of their procedures, and perhaps some facts."""

    def show(stays: Cohort, rng: np.random.Generator) -> Shown:
        mixed, first = shuffled(stays.diagnoses, _few(stays.diagnoses.lengths, rng), rng)
        asked = mixed.filtered(first)
        none = stays.procedures.filtered(np.zeros(len(stays.procedures.values), bool))
        rows = asked if layout is None else part_of(layout, stays, asked, _drawn(len(stays), rng))
        return Shown(rows, asked, none, stays.procedures)

    return show


def part_of(layout: EvidenceLayout, stays: Cohort, asked: Ragged, told: NDArray[np.bool_]) -> Ragged:
    """The rows of questions with some of the stays' diagnoses, and the facts that are `told`, (i, 4).

    A principal diagnosis that is not asked is not told either.
    """
    known = known_of(layout, stays)
    hidden = ~told
    hidden[:, _PRINCIPAL] |= ~_among(known.facts[:, _PRINCIPAL], asked)
    return layout.rows(asked, known.without(hidden))


def _few(most: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """For each stay a number from 1 to `most`; its logarithm is spread evenly."""
    drawn = np.floor(np.exp(rng.random(len(most)) * np.log(most + 1))).astype(np.int64)
    return np.clip(drawn, 1, most)


def _drawn(stays: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which facts are told: of every other stay none."""
    told: NDArray[np.bool_] = rng.random((stays, len(FACTS))) < _FACT
    told[::2] = False
    return told


def _among(codes: Numbers, rows: Ragged) -> NDArray[np.bool_]:
    """Whether each stay's code is in its row, (i,)."""
    found = np.zeros(len(rows), np.bool_)
    found[rows.row_of_entry[rows.values == codes[rows.row_of_entry]]] = True
    return found
