"""Fitting how log odds change with how much is known (`dx2px.scoring.correction`).

The four numbers are fitted on validation stays, of which a part is shown. A head, fitted on training stays that are
shown in part likewise (`fit_head`), corrects each procedure by itself, if that helps on the validation stays.

Axes: i stays, p procedures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort import Cohort, Ragged
from dx2px.scoring.calibration import Calibration, sigmoid
from dx2px.scoring.correction import Correction
from dx2px.scoring.folder import halved
from dx2px.scoring.head import Head
from dx2px.scoring.methods import Layout
from dx2px.scoring.metrics import BATCH, Scores
from dx2px.scoring.points import MOST_PAIRS, evenly_spread
from dx2px.scoring.segments import Doubles
from dx2px.training.fit_calibration import log_loss, logistic, slope_and_shift
from dx2px.training.fit_head import fit_head

STEPS = 300  # of the head: it starts near the truth
_LEAST = np.float32(-80)  # log odds of what is not asked; exp(80) is still finite in single precision
_UNCHANGED = Correction(1.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Shown:
    """What is shown of some stays."""

    rows: Ragged  # what the method is asked
    number: NDArray[np.int64]  # (i,) of codes that are known, of the kind that the correction counts
    coded: Ragged  # the procedures that are shown as coded
    left: Ragged  # those that are still to be found


Show = Callable[[Cohort, np.random.Generator], Shown]


@dataclass(frozen=True, eq=False)
class _Asked:
    """Stays that are shown in part, with the log odds of what is not coded yet."""

    z: Doubles  # (i, p)
    open: NDArray[np.bool_]  # (i, p) not coded
    number: NDArray[np.int64]  # (i,)
    left: Ragged

    @classmethod
    def of(cls, stage: Calibration, scores: Scores, shown: Shown) -> _Asked:
        z = np.concatenate([stage.log_odds(scores(block)) for block in shown.rows.blocks(BATCH)])
        return cls(z, ~shown.coded.indicator(z.shape[1]), shown.number, shown.left)

    @property
    def coded(self) -> NDArray[np.bool_]:
        """Of the open ones, laid flat: whether they were coded."""
        return self.left.indicator(self.open.shape[1])[self.open]

    def corrected(self, correction: Correction) -> Doubles:
        """Of all procedures, (i, p); what is not asked counts as next to impossible."""
        return correction(np.where(self.open, self.z, _LEAST), self.number)

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
    half: bool = False,
) -> Correction:
    """The correction of a stage.

    Args:
        stage: The stage so far.
        show: Shows a part of stays.
        layout: How the arrays of the correction's head are named.
        learned: How to score training stays, and these stays.
        validation: How to score stays that the method did not learn from, and these stays.
        half: Round the head's arrays to half precision, as the folder will.
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
    found = replace(plain, head=_head(plain, lessons, held_out, layout, half))
    return found if held_out.loss(found) < held_out.loss(plain) else plain


def shuffled(rows: Ragged, rng: np.random.Generator) -> tuple[Ragged, NDArray[np.bool_]]:
    """The rows, each in random order, and which entries belong to the first ones: of each row from one to all."""
    order = np.lexsort((rng.random(len(rows.values)), rows.row_of_entry))
    number = 1 + np.floor(rng.random(len(rows)) * rows.lengths).astype(np.int64)
    mixed = Ragged(rows.offsets, rows.values[order])
    return mixed, mixed.place_of_entry < number[mixed.row_of_entry]


def _plain(asked: _Asked) -> Correction:
    """Without a head; log odds as they are, if the fit did not converge to something better."""
    z, logs = asked.z[asked.open], np.repeat(np.log(asked.number), asked.open.sum(axis=1))
    features = np.stack([z, np.ones(len(z)), logs, z * logs], axis=1)
    slope, shift, per_log, tilt = logistic(features, asked.coded, np.array([1.0, 0.0, 0.0, 0.0])).tolist()
    found = Correction(slope, shift, per_log, tilt)
    return found if asked.loss(found) < asked.loss(_UNCHANGED) else _UNCHANGED


def _head(plain: Correction, lessons: _Asked, held_out: _Asked, layout: Layout, half: bool) -> Head:
    """Fitted on the lessons, with the slope and shift of the held-out stays."""
    eta = np.where(lessons.open, plain(lessons.z, lessons.number), _LEAST).astype(np.float32)
    arrays = fit_head(eta, lessons.left, steps=STEPS, layout=layout)
    head = Head.of(halved(arrays) if half else arrays, layout=layout)
    own = head.own(np.where(held_out.open, plain(held_out.z, held_out.number), _LEAST))
    slope, shift = slope_and_shift(own[held_out.open], held_out.coded)
    return replace(head, slope=slope, shift=shift)
