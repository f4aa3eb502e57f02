"""Fitting probabilities of what else belongs to a stay, given the procedures that are coded already.

The more procedures are coded, the less is left to find. While learning, something always was; in earnest there may be
nothing. So of each validation stay a random number of procedures, perhaps all of them, counts as coded, and the log
odds of the others get a slope, a shift, and a shift per logarithm of the number that is coded.

Axes: i stays, p procedures.
"""

from __future__ import annotations

import numpy as np

from dx2px.cohort import Cohort, Ragged
from dx2px.scoring.calibration import Calibration, Completion
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.metrics import BATCH, Scores
from dx2px.training.fit_calibration import logistic

MOST_PAIRS = 5_000_000  # of stay and procedure; with more, evenly spread stays are used


def fit_completion(
    stage: Calibration, scores: Scores, layout: EvidenceLayout, stays: Cohort, seed: int = 0
) -> Completion:
    """The completion of a stage, from stays that the method did not learn from."""
    most = max(1, MOST_PAIRS // layout.procedures)
    chosen = stays.subset(np.linspace(0, len(stays) - 1, min(len(stays), most)).astype(np.int64))
    shown, left = shown_and_left(chosen.procedures, np.random.default_rng(seed))
    rows = layout.rows(chosen.diagnoses, layout.known(chosen).with_coded(shown))
    z = np.concatenate([stage.log_odds(scores(block)) for block in rows.blocks(BATCH)])  # (i, p)
    open_ = ~shown.indicator(layout.procedures)
    number = np.broadcast_to(np.log(shown.lengths)[:, None], z.shape)
    features = np.stack([z[open_], np.ones(int(open_.sum())), number[open_]], axis=1)
    found = logistic(features, left.indicator(layout.procedures)[open_], np.array([1.0, 0.0, 0.0]))
    return Completion(*found.tolist())


def shown_and_left(procedures: Ragged, rng: np.random.Generator) -> tuple[Ragged, Ragged]:
    """Of each stay a random number of its procedures, from one to all, and the others."""
    order = np.lexsort((rng.random(len(procedures.values)), procedures.row_of_entry))
    number = 1 + np.floor(rng.random(len(procedures)) * procedures.lengths).astype(np.int64)
    shuffled = Ragged(procedures.offsets, procedures.values[order])
    is_shown = shuffled.place_of_entry < number[shuffled.row_of_entry]
    return shuffled.filtered(is_shown), shuffled.filtered(~is_shown)
