"""Fitting what coded procedures do to the levels of the others (`dx2px.scoring.beside`), once the network is learned.

The network stays as it is. Of training stays with several procedures some are shown as coded: in every other question
all but one, else a random number. The loss is that of the network, over the procedures that are left to find:

    −w Σ_{p∈left} log π(p),  π(p) ∝ exp(score_p + l_p),  l_p = a_p + Σ_{r∈shown} A_r·B_p

with a ridge towards 0. The network scores these stays with dropout, since it knows them too well. Validation stays
decide whether the levels are kept. docs/method.md has the study of the numbers below.

Axes: i questions, p procedures, f factors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray

from dx2px.cohort import Cohort, Ragged
from dx2px.scoring import points
from dx2px.scoring.beside import Beside, CodedLevels
from dx2px.scoring.cohort_evidence import known_of
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.folder import halved
from dx2px.scoring.metrics import BATCH, Scores
from dx2px.scoring.segments import Doubles, Floats, log_softmax
from dx2px.training.descent import Weights, descend
from dx2px.training.fit_correction import shuffled

FACTORS, STEPS = 32, 600
QUESTIONS = 8  # per stay, at most
MOST_PAIRS = 50_000_000  # of question and procedure, to learn from; `points.MOST_PAIRS` to decide
_RIDGE = {"a": (0.5, 0.0), "A": (8.0, 0.0), "B": (8.0, 0.0)}
_SPREAD = 0.3  # deviation of A at the start


@dataclass(frozen=True, eq=False)
class _Questions:
    """Stays of which some procedures are shown."""

    scores: Floats  # (i, p) −∞ for those that are shown
    shown: NDArray[np.bool_]  # (i, p)
    left: NDArray[np.bool_]  # (i, p)
    weights: Floats  # (i,) of the loss

    @classmethod
    def of(
        cls, scores: Scores, layout: EvidenceLayout, stays: Cohort, balance: float, rng: np.random.Generator
    ) -> Self:
        shown, left = shown_and_left(stays.procedures, rng)
        rows = layout.rows(stays.diagnoses, known_of(layout, stays).with_coded(shown))
        found = np.concatenate([scores(block) for block in rows.blocks(BATCH)])
        weights = ((1 + balance) / (balance + left.lengths)).astype(np.float32)
        size = layout.procedures
        return cls(found, shown.indicator(size), left.indicator(size), weights)

    def loss(self, levels: CodedLevels | None) -> float:
        """Of all questions together."""
        heights: Doubles = self.scores.astype(np.float64)
        if levels is not None:
            stay, procedure = self.shown.nonzero()
            levels.add(heights, (stay, procedure))
            heights[self.shown] = -np.inf
        found = np.where(self.left, log_softmax(heights), 0).sum(axis=1)
        return -float(self.weights @ found)


def fit_levels(
    layout: EvidenceLayout,
    learned: tuple[Scores, Cohort],
    validation: tuple[Scores, Cohort],
    *,
    balance: float,
    half: bool = False,
) -> CodedLevels | None:
    """The levels, or None if they do not help on the validation stays.

    Args:
        layout: The model's rows of evidence.
        learned: How to score training stays, and these stays.
        validation: How to score stays that the method did not learn from, and these stays.
        balance: κ of the loss.
        half: Round the arrays to half precision, as the folder will.
    """
    asked = _with_several(learned[1], layout.procedures, MOST_PAIRS)
    tests = _with_several(validation[1], layout.procedures, points.MOST_PAIRS)
    if not len(asked) or not len(tests):
        return None
    lessons = _Questions.of(learned[0], layout, asked, balance, np.random.default_rng(0))
    arrays = _fitted(lessons)
    found = CodedLevels.of(halved(arrays) if half else arrays)
    held_out = _Questions.of(validation[0], layout, tests, balance, np.random.default_rng(1))
    return found if held_out.loss(found) < held_out.loss(None) else None


def shown_and_left(procedures: Ragged, rng: np.random.Generator) -> tuple[Ragged, Ragged]:
    """Of each stay, which has several procedures, some that are shown, and the others."""
    several = procedures.lengths - 1
    number = np.where(
        rng.random(len(several)) < 0.5, several, 1 + np.floor(rng.random(len(several)) * several)
    )
    mixed, first = shuffled(procedures, number.astype(np.int64), rng)
    return mixed.filtered(first), mixed.filtered(~first)


def gradient(weights: Weights, questions: _Questions, rows: NDArray[np.int64]) -> Weights:
    """Of the loss of some questions."""
    a, A, B = (weights[name] for name in "aAB")
    shown, left = (marks[rows].astype(np.float32) for marks in (questions.shown, questions.left))
    factors = shown @ A  # (i, f)
    wrong = questions.scores[rows] + factors @ B.T + a  # (i, p)
    wrong -= wrong.max(axis=1, keepdims=True)
    np.exp(wrong, out=wrong)
    wrong *= (left.sum(axis=1) / wrong.sum(axis=1))[:, None]
    wrong -= left
    wrong *= questions.weights[rows, None]
    return {"a": wrong.sum(axis=0), "A": shown.T @ (wrong @ B), "B": wrong.T @ factors}


def _with_several(stays: Cohort, procedures: int, most: int) -> Cohort:
    """The stays with several procedures, each as often as it is asked about."""
    several = np.flatnonzero(stays.procedures.lengths > 1)
    number = min(QUESTIONS * len(several), max(1, most // procedures)) if len(several) else 0
    places = np.linspace(0, len(several), number, endpoint=False).astype(np.int64)
    return stays.subset(several[places])


def _fitted(lessons: _Questions, seed: int = 0) -> dict[str, Floats]:
    """The arrays."""
    generator = torch.Generator().manual_seed(seed)
    procedures = lessons.scores.shape[1]
    start = {
        "a": np.zeros(procedures, np.float32),
        "A": (_SPREAD * torch.randn(procedures, FACTORS, generator=generator)).numpy(),
        "B": np.zeros((procedures, FACTORS), np.float32),
    }
    found = descend(
        start, lambda now, rows: gradient(now, lessons, rows), _RIDGE, len(lessons.scores), STEPS, generator
    )
    return CodedLevels(found["a"], Beside(found["A"], found["B"])).arrays
