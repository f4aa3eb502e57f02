"""From a trained method's scores to its probabilities, in the order in which the parts are fitted.

1. One stage for all procedures, on validation stays                                     `fit_calibration`
2. A head that corrects each procedure, on training stays; kept if validation gains      `fit_head`
   or, with runs that left stays out, on these: shifts, and a part of a head              `fit_shifts`
3. Which procedures exclude each other, in the training stays                            `fit_alternatives`
4. What changes once some procedures are coded, for a model that takes this as evidence  `fit_completion`
5. What changes once the coded ones are all others that a stay has, likewise             `fit_rest`
6. What changes if a question names a part of a stay's diagnoses                         `fit_partial`
7. Thresholds of sets, on validation stays                                               `conformal_thresholds`

A model that takes evidence must be right with it and without. So validation stays are used both ways, and of the
training stays every other one shows its diagnoses alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import numpy as np
import torch
from numpy.typing import NDArray

from dx2px.cohort import Cohort, Ragged
from dx2px.ragged import joined
from dx2px.scoring.calibration import Calibration
from dx2px.scoring.cohort_evidence import known_of, stay_rows
from dx2px.scoring.evidence import Evidence, EvidenceLayout, layout_of
from dx2px.scoring.head import COMPLETION, PARTIAL
from dx2px.scoring.metrics import BATCH
from dx2px.scoring.points import MOST_PAIRS, evenly_spread, scored_pairs
from dx2px.scoring.scorer import Scorer
from dx2px.scoring.segments import Doubles, Floats
from dx2px.training.fit_alternatives import fit_alternatives
from dx2px.training.fit_calibration import conformal_thresholds, fit_calibration
from dx2px.training.fit_completion import some_coded
from dx2px.training.fit_correction import fit_correction
from dx2px.training.fit_head import MOST_PAIRS as OF_HEAD
from dx2px.training.fit_head import fitting_stays, pooled_log_odds, with_head
from dx2px.training.fit_partial import some_diagnoses
from dx2px.training.fit_rest import fit_rest
from dx2px.training.fit_shifts import with_shifts
from dx2px.training.recommender import Recommender

QUESTIONS = 2  # that each training stay is asked, with other diagnoses each time
Pairs = tuple[Doubles, NDArray[np.bool_]]  # scores of stays, and what was coded, both (i, p)


def calibrated(method: Recommender, scorer: Scorer, lessons: Cohort, held_out: Cohort) -> Calibration:
    """The calibration of a method: `lessons` are stays that it learned from, `held_out` others."""
    layout, generator = layout_of(scorer), torch.Generator().manual_seed(0)
    lessons = lessons.subset(fitting_stays(len(lessons.procedure_vocabulary), len(lessons)))

    def blurred(rows: Ragged) -> Floats:
        return method.blurred_scores(rows, generator)

    tests = method.tests() or [(scorer, held_out)]
    ways = [
        _joined([_scored(one, _some_of(stays, len(tests), MOST_PAIRS), way) for one, stays in tests])
        for way in (get_args(Evidence) if layout else ("codes",))
    ]
    both = _spread(_joined(ways))
    stage = fit_calibration(*both)
    if method.tests():
        scores, coded = _left_out(method.tests(), layout)
        eta = pooled_log_odds(stage, scores)
        stage = with_shifts(stage, (eta, coded), both, half=method.half)
    else:
        eta, coded = pooled_log_odds(stage, blurred(_mixed_rows(layout, lessons))), lessons.procedures
        stage = with_head(stage, (eta, coded), both, half=method.half)
    if stage.head is not None:  # pooled probabilities know too little to tell what excludes what
        stage = replace(stage, alternatives=fit_alternatives(stage.head, eta, coded))

    known, learned = (scorer.scores, held_out), (blurred, lessons.subset(np.arange(0, len(lessons), 2)))
    if layout is not None:
        completion = fit_correction(stage, some_coded(layout), COMPLETION, learned, known, half=method.half)
        stage = replace(stage, completion=completion)
        stage = replace(stage, rest=fit_rest(stage, layout, learned, known, half=method.half))
    asked = blurred, lessons.subset(np.tile(np.arange(len(lessons)), QUESTIONS))
    size, show = len(lessons.diagnosis_vocabulary), some_diagnoses(layout)
    partial = fit_correction(stage, show, PARTIAL, asked, known, diagnoses=size, half=method.half)
    stage = replace(stage, partial=partial)
    found = [conformal_thresholds(stage.probability(s), coded, stage.coverages) for s, coded in ways]
    return replace(
        stage,
        thresholds=np.min(found, axis=0),  # those that keep the promise both ways
        partial_thresholds=_question_thresholds(stage, scorer, held_out),
    )


def _some_of(stays: Cohort, tests: int, most: int) -> Cohort:
    """Evenly spread stays of one of so many tests, if all tests would make more pairs together."""
    return stays.subset(evenly_spread(len(stays), tests * len(stays.procedure_vocabulary), most))


def _left_out(tests: Sequence[tuple[Scorer, Cohort]], layout: EvidenceLayout | None) -> tuple[Floats, Ragged]:
    """The scores of stays by runs that did not learn from them, and what was coded; not too many of each run."""
    scores, coded = [], []
    for one, stays in tests:
        some = _some_of(stays, len(tests), OF_HEAD)
        scores += [one.scores(block) for block in _mixed_rows(layout, some).blocks(BATCH)]
        coded.append(some.procedures)
    return np.concatenate(scores), joined(coded)


def _mixed_rows(layout: EvidenceLayout | None, stays: Cohort) -> Ragged:
    """Every other stay with all its evidence, the rest with their diagnoses alone."""
    if layout is None:
        return stays.diagnoses
    alone = (np.arange(len(stays)) % 2 == 0)[:, None]
    return layout.rows(stays.diagnoses, known_of(layout, stays).without(alone))


def _scored(scorer: Scorer, stays: Cohort, evidence: Evidence) -> Pairs:
    return scored_pairs(scorer.scores, stay_rows(scorer, stays, evidence), stays.procedures)


def _joined(parts: Sequence[Pairs]) -> Pairs:
    s, coded = (np.concatenate(some) for some in zip(*parts, strict=True))
    return s, coded


def _spread(pairs: Pairs) -> Pairs:
    """Evenly spread stays if they are too many."""
    s, coded = pairs
    some = evenly_spread(len(s), s.shape[1], MOST_PAIRS)
    return s[some], coded[some]


def _question_thresholds(stage: Calibration, scorer: Scorer, stays: Cohort) -> Doubles:
    """Of the sets of each coverage, if a part of the diagnoses is asked."""
    some = stays.subset(evenly_spread(len(stays), len(stays.procedure_vocabulary), MOST_PAIRS))
    shown = some_diagnoses(layout_of(scorer))(some, np.random.default_rng(2))
    s, coded = scored_pairs(scorer.scores, shown.rows, shown.left)
    return conformal_thresholds(stage.of_question(s, shown.known), coded, stage.coverages)
