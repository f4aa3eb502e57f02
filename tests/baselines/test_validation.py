"""Choosing on validation: the same F1@5 as everywhere, the first of equals, all trials recorded."""

from __future__ import annotations

import numpy as np
import pytest

from dx2px.baselines.validation import Trial, Validation, choose
from dx2px.cohort import Ragged
from dx2px.evaluation.metrics import evaluate


@pytest.mark.parametrize("procedures", [3, 40])
def test_f1_is_that_of_the_metrics(procedures: int) -> None:
    rng = np.random.default_rng(0)
    truth = Ragged.from_lists(
        rng.choice(procedures, size, replace=False) for size in rng.integers(1, min(procedures, 9), 5000)
    )
    scores = rng.random((5000, procedures)).round(1).astype(np.float32)  # with many ties
    stays = Ragged.from_lists([[row] for row in range(5000)])

    def score(rows: Ragged) -> np.ndarray:
        return scores[rows.values]

    expected = evaluate(score, stays, truth, at=(5,)).mean("f1")[5]
    assert Validation(stays, truth).f1(score) == pytest.approx(expected, abs=1e-12)


def test_the_first_of_the_best_is_chosen_and_all_are_told() -> None:
    told: list[str] = []
    trials = [Trial({"ridge": ridge}, f1, ridge) for ridge, f1 in ((3, 20.0), (2, 30.0), (1, 30.0))]
    choice = choose(trials, told.append)
    assert choice.best.learned == 2
    assert choice.tried[2] == {"ridge": 1, "validation_f1": 30.0}
    assert told[0] == "ridge 3, validation_f1 20.0"
