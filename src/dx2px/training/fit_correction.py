"""Fitting how log odds change with how much is known (`dx2px.scoring.correction`).

The four numbers are fitted on validation stays, of which a part is shown. A head, fitted on training stays that are
shown in part likewise (`fit_head`), corrects each procedure by itself, if that helps on the validation stays. It may be
told which diagnoses are known; then it has more to learn.

Axes: i stays, p procedures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort import Cohort, Ragged
from dx2px.scoring.calibration import Calibration, sigmoid
from dx2px.scoring.correction import ASKED, ASKED_LAYOUT, Correction
from dx2px.scoring.folder import halved
from dx2px.scoring.head import Head
from dx2px.scoring.methods import Layout
from dx2px.scoring.metrics import BATCH, Scores
from dx2px.scoring.points import MOST_PAIRS, evenly_spread
from dx2px.scoring.segments import Doubles, Floats
from dx2px.training.fit_calibration import log_loss, logistic, slope_and_shift
from dx2px.training.fit_head import fit_head

STEPS, STEPS_TOLD = 300, 600  # of the head: it starts near the truth
_LEAST = np.float32(-80)  # log odds of what is not asked; exp(80) is still finite in single precision
_UNCHANGED = Correction(1.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Shown:
    """What is shown of some stays."""

    rows: Ragged  # what the method is asked
    known: Ragged  # the codes that are known, of the kind that the correction counts; at least one
    coded: Ragged  # the procedures that are shown as coded
    left: Ragged  # those that are still to be found


Show = Callable[[Cohort, np.random.Generator], Shown]


@dataclass(frozen=True, eq=False)
class _Asked:
    """Stays that are shown in part, with the log odds of what is not coded yet."""

    z: Floats  # (i, p)
    open: NDArray[np.bool_]  # (i, p) not coded
    known: Ragged
    left: Ragged

    @classmethod
    def of(cls, stage: Calibration, scores: Scores, shown: Shown) -> _Asked:
        found = scores(shown.rows)
        z = np.empty((len(found), found.shape[1]), np.float32)
        for start in range(0, len(z), BATCH):
            block = slice(start, start + BATCH)
            z[block] = stage.log_odds(found[block])
        return cls(z, ~shown.coded.indicator(z.shape[1]), shown.known, shown.left)

    @property
    def coded(self) -> NDArray[np.bool_]:
        """Of the open ones, laid flat: whether they were coded."""
        return self.left.indicator(self.open.shape[1])[self.open]

    def corrected(self, correction: Correction) -> Doubles:
        """Of all procedures, (i, p); what is not asked counts as next to impossible."""
        return correction(np.where(self.open, self.z, _LEAST), self.known.lengths, asked=self.known)

    def turned(self, correction: Correction) -> Floats:
        """What a correction gives its head, (i, p), written over z."""
        for start in range(0, len(self.z), BATCH):
            block = slice(start, start + BATCH)
            changed = correction.plain(self.z[block], self.known.lengths[block])
            self.z[block] = np.where(self.open[block], changed, _LEAST)
        return self.z

    def loss(self, correction: Correction) -> float:
        """Minus the log likelihood of the open ones."""
        return log_loss(sigmoid(self.corrected(correction)[self.open]), self.coded)


def fit_correction(
    stage: Calibration,
    show: Show,
    layout: Layout,
    learned: tuple[Scores, Cohort],
    validation: tuple[Scores, Cohort],
    *,
    diagnoses: int = 0,
    half: bool = False,
) -> Correction:
    """The correction of a stage.

    Args:
        stage: The stage so far.
        show: Shows a part of stays.
        layout: How the arrays of the correction's head are named.
        learned: How to score training stays, and these stays.
        validation: How to score stays that the method did not learn from, and these stays.
        diagnoses: Number of diagnoses in the vocabulary, if the head is told which of them are known.
        half: Round the arrays to half precision, as the folder will.
    """
    scores, stays = validation
    some = stays.subset(evenly_spread(len(stays), len(stays.procedure_vocabulary), MOST_PAIRS))
    held_out = _Asked.of(stage, scores, show(some, np.random.default_rng(0)))
    if not held_out.coded.any():  # every procedure of these stays counts as coded: nothing is left to find
        return _UNCHANGED
    plain = _plain(held_out)
    if stage.head is None:
        return plain
    lessons = _Asked.of(stage, learned[0], show(learned[1], np.random.default_rng(1)))
    found = _with_head(plain, lessons, held_out, layout, diagnoses, half)
    return found if held_out.loss(found) < held_out.loss(plain) else plain


def shuffled(
    rows: Ragged, number: NDArray[np.int64], rng: np.random.Generator
) -> tuple[Ragged, NDArray[np.bool_]]:
    """The rows, each in random order, and which entries are the first ones: of each row so many."""
    order = np.lexsort((rng.random(len(rows.values)), rows.row_of_entry))
    mixed = Ragged(rows.offsets, rows.values[order])
    return mixed, mixed.place_of_entry < number[mixed.row_of_entry]


def _plain(asked: _Asked) -> Correction:
    """Without a head; log odds as they are, if the fit did not converge to something better."""
    z, logs = asked.z[asked.open], np.repeat(np.log(asked.known.lengths), asked.open.sum(axis=1))
    features = np.stack([z, np.ones(len(z)), logs, z * logs], axis=1)
    slope, shift, per_log, tilt = logistic(features, asked.coded, np.array([1.0, 0.0, 0.0, 0.0])).tolist()
    found = Correction(slope, shift, per_log, tilt)
    return found if asked.loss(found) < asked.loss(_UNCHANGED) else _UNCHANGED


def _with_head(
    plain: Correction, lessons: _Asked, held_out: _Asked, layout: Layout, diagnoses: int, half: bool
) -> Correction:
    """With a head fitted on the lessons, whose slope and shift are those of the held-out stays."""
    eta = lessons.turned(plain)
    if diagnoses:
        names, asked = {**layout, **ASKED_LAYOUT}, lessons.known
        arrays = fit_head(eta, lessons.left, steps=STEPS_TOLD, layout=names, asked=asked, diagnoses=diagnoses)
    else:
        arrays = fit_head(eta, lessons.left, steps=STEPS, layout=layout)
    arrays = halved(arrays) if half else arrays
    head = Head.of(arrays, layout=layout)
    found = replace(plain, head=head, E=arrays.get(ASKED))
    z = held_out.corrected(found)
    slope, shift = slope_and_shift(z[held_out.open], held_out.coded)
    return replace(found, head=replace(head, slope=slope, shift=shift))
