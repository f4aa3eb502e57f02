"""Fitting probabilities of what else belongs to a stay, given the procedures that are coded already.

The more procedures are coded, the less is left to find. While the method learned, something always was; in earnest
there may be nothing. So of each stay a random number of procedures, perhaps all of them, counts as coded. On validation
stays, the log odds of the others get a slope, a shift, and a shift per logarithm of the number that is coded. A second
head, fitted on training stays like the first (`fit_head`), corrects each procedure by itself, if that helps on the
validation stays.

Axes: i stays, p procedures.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort import Cohort, Ragged
from dx2px.scoring.calibration import Calibration, sigmoid
from dx2px.scoring.cohort_evidence import known_of
from dx2px.scoring.completion import Completion
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.folder import halved
from dx2px.scoring.head import COMPLETION, Head
from dx2px.scoring.metrics import BATCH, Scores
from dx2px.scoring.points import MOST_PAIRS, evenly_spread
from dx2px.scoring.segments import Doubles
from dx2px.training.fit_calibration import log_loss, logistic, slope_and_shift
from dx2px.training.fit_head import fit_head

STEPS = 300  # of the second head: it starts near the truth
_LEAST = np.float32(-80)  # log odds of what is not asked; exp(80) is still finite in single precision


@dataclass(frozen=True, eq=False)
class _Asked:
    """Stays of which some procedures count as coded, with the log odds of the others."""

    z: Doubles  # (i, p)
    open: NDArray[np.bool_]  # (i, p) not coded
    number: NDArray[np.int64]  # (i,) of coded procedures
    left: Ragged  # the procedures that are still to be found

    @classmethod
    def of(
        cls, stage: Calibration, layout: EvidenceLayout, scores: Scores, stays: Cohort, seed: int
    ) -> _Asked:
        shown, left = shown_and_left(stays.procedures, np.random.default_rng(seed))
        rows = layout.rows(stays.diagnoses, known_of(layout, stays).with_coded(shown))
        z = np.concatenate([stage.log_odds(scores(block)) for block in rows.blocks(BATCH)])
        return cls(z, ~shown.indicator(layout.procedures), shown.lengths, left)

    @property
    def coded(self) -> NDArray[np.bool_]:
        """Of the open ones, laid flat: whether they were coded."""
        return self.left.indicator(self.open.shape[1])[self.open]

    def loss(self, completion: Completion) -> float:
        """Minus the log likelihood of the open ones."""
        z = completion(np.where(self.open, self.z, _LEAST), self.number)
        return log_loss(sigmoid(z[self.open]), self.coded)


def fit_completion(
    stage: Calibration,
    layout: EvidenceLayout,
    learned: tuple[Scores, Cohort],
    validation: tuple[Scores, Cohort],
    *,
    half: bool = False,
) -> Completion:
    """The completion of a stage.

    Args:
        stage: The stage so far.
        layout: The model's rows of evidence.
        learned: How to score training stays, and these stays.
        validation: How to score stays that the method did not learn from, and these stays.
        half: Round the head's arrays to half precision, as the folder will.
    """
    scores, stays = validation
    some = stays.subset(evenly_spread(len(stays), layout.procedures, MOST_PAIRS))
    held_out = _Asked.of(stage, layout, scores, some, seed=0)
    plain = _plain(held_out)
    if stage.head is None:
        return plain
    found = replace(plain, head=_head(plain, _Asked.of(stage, layout, *learned, seed=1), held_out, half))
    return found if held_out.loss(found) < held_out.loss(plain) else plain


def shown_and_left(procedures: Ragged, rng: np.random.Generator) -> tuple[Ragged, Ragged]:
    """Of each stay a random number of its procedures, from one to all, and the others."""
    order = np.lexsort((rng.random(len(procedures.values)), procedures.row_of_entry))
    number = 1 + np.floor(rng.random(len(procedures)) * procedures.lengths).astype(np.int64)
    shuffled = Ragged(procedures.offsets, procedures.values[order])
    is_shown = shuffled.place_of_entry < number[shuffled.row_of_entry]
    return shuffled.filtered(is_shown), shuffled.filtered(~is_shown)


def _plain(asked: _Asked) -> Completion:
    """Without a head; log odds as they are, if the fit did not converge to something better."""
    logs = np.broadcast_to(np.log(asked.number)[:, None], asked.z.shape)
    features = np.stack([asked.z[asked.open], np.ones(int(asked.open.sum())), logs[asked.open]], axis=1)
    slope, shift, per_log = logistic(features, asked.coded, np.array([1.0, 0.0, 0.0])).tolist()
    found, unchanged = Completion(slope, shift, per_log), Completion(1.0, 0.0, 0.0)
    return found if asked.loss(found) < asked.loss(unchanged) else unchanged


def _head(plain: Completion, lessons: _Asked, held_out: _Asked, half: bool) -> Head:
    """Fitted on the lessons, with the slope and shift of the held-out stays."""
    eta = np.where(lessons.open, plain(lessons.z, lessons.number), _LEAST).astype(np.float32)
    arrays = fit_head(eta, lessons.left, steps=STEPS, layout=COMPLETION)
    head = Head.of(halved(arrays) if half else arrays, layout=COMPLETION)
    own = head.own(np.where(held_out.open, plain(held_out.z, held_out.number), _LEAST))
    slope, shift = slope_and_shift(own[held_out.open], held_out.coded)
    return replace(head, slope=slope, shift=shift)
