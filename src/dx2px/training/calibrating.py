"""From a trained method's scores to its probabilities, in the order in which the parts are fitted.

1. One stage for all procedures, on validation stays                                     `fit_calibration`
2. A head that corrects each procedure, on training stays; kept if validation gains      `fit_head`
3. Which procedures exclude each other, in the training stays                            `fit_alternatives`
4. What changes once some procedures are coded, for a model that takes this as evidence  `fit_completion`
5. What changes once the coded ones are all others that a stay has, likewise             `fit_rest`
6. Thresholds of sets, on validation stays                                               `conformal_thresholds`

A model that takes evidence must be right with it and without. So validation stays are used both ways, and of the
training stays every other one shows its diagnoses alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import torch

from dx2px.cohort import Cohort, Ragged
from dx2px.ragged import joined
from dx2px.scoring.calibration import Calibration
from dx2px.scoring.cohort_evidence import known_of, stay_rows
from dx2px.scoring.evidence import Evidence, EvidenceLayout, layout_of
from dx2px.scoring.metrics import Scores
from dx2px.scoring.points import scored_pairs
from dx2px.scoring.scorer import Scorer
from dx2px.scoring.segments import Doubles
from dx2px.training.fit_alternatives import fit_alternatives
from dx2px.training.fit_calibration import conformal_thresholds, fit_calibration
from dx2px.training.fit_completion import fit_completion
from dx2px.training.fit_head import fitting_stays, with_head
from dx2px.training.fit_rest import fit_rest
from dx2px.training.recommender import Recommender


def calibrated(method: Recommender, scorer: Scorer, lessons: Cohort, held_out: Cohort) -> Calibration:
    """The calibration of a method: `lessons` are stays that it learned from, `held_out` others."""
    layout, generator = layout_of(scorer), torch.Generator().manual_seed(0)
    lessons = lessons.subset(fitting_stays(len(lessons.procedure_vocabulary), len(lessons)))
    blurred = method.blurred_scores(_mixed_rows(layout, lessons), generator)
    both_ways = _both_ways(scorer, held_out)
    stage = fit_calibration(*both_ways)
    stage = with_head(stage, (blurred, lessons.procedures), both_ways, half=method.half)
    if stage.head is not None:  # pooled probabilities know too little to tell what excludes what
        stage = replace(stage, alternatives=fit_alternatives(stage, blurred, lessons.procedures))
    if layout is not None:
        every_other = lessons.subset(np.arange(0, len(lessons), 2))
        learned = (lambda rows: method.blurred_scores(rows, generator)), every_other
        known = scorer.scores, held_out
        stage = replace(stage, completion=fit_completion(stage, layout, learned, known, half=method.half))
        stage = replace(stage, rest=fit_rest(stage, layout, learned, known, half=method.half))
    return replace(stage, thresholds=_thresholds(stage, scorer, held_out))


def _mixed_rows(layout: EvidenceLayout | None, stays: Cohort) -> Ragged:
    """Every other stay with all its evidence, the rest with their diagnoses alone."""
    if layout is None:
        return stays.diagnoses
    alone = (np.arange(len(stays)) % 2 == 0)[:, None]
    return layout.rows(stays.diagnoses, known_of(layout, stays).without(alone))


def _both_ways(scorer: Scorer, stays: Cohort) -> tuple[Scores, Ragged, Ragged]:
    """How to score stays, their rows, and their procedures: with all evidence, then with diagnoses alone."""
    ways = get_args(Evidence) if layout_of(scorer) is not None else ("codes",)
    rows = joined([stay_rows(scorer, stays, way) for way in ways])
    return scorer.scores, rows, joined([stays.procedures] * len(ways))


def _thresholds(stage: Calibration, scorer: Scorer, stays: Cohort) -> Doubles:
    """Of the sets of each coverage: those that keep the promise with all evidence and with diagnoses alone."""
    found = []
    for evidence in get_args(Evidence):
        rows = stay_rows(scorer, stays, evidence)
        s, coded = scored_pairs(scorer.scores, rows, stays.procedures)
        found.append(conformal_thresholds(stage.probability(s), coded, stage.coverages))
    lowest: Doubles = np.min(found, axis=0)
    return lowest
