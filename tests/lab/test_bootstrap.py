"""Intervals and areas, against scikit-learn and by repetition."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from dx2px.lab.bootstrap import Resamples


def test_areas_are_scikit_learns_ties_included() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(400) < 0.2
    scores = np.round(rng.random(400) + 0.5 * truth, 1)
    stay = np.repeat(np.arange(40), 10)
    roc, pr = Resamples.draw(40, 0).areas(scores, truth, stay)
    assert roc.value == pytest.approx(roc_auc_score(truth, scores))
    assert pr.value == pytest.approx(average_precision_score(truth, scores))
    assert roc.low < roc.value < roc.high


def test_an_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    """Stays of unequal size whose procedures agree with each other: stays are drawn, so the width is honest."""
    hits = 0
    for trial in range(200):
        rng = np.random.default_rng(trial)
        sizes = rng.integers(1, 9, 120)
        easy = rng.random(120) < 0.7
        found = Resamples.draw(120, trial).mean(
            np.repeat(easy, sizes).astype(float), np.repeat(np.arange(120), sizes)
        )
        hits += found.low <= 0.7 <= found.high
    assert 180 <= hits <= 199


def test_a_ratio_to_itself_is_certain() -> None:
    x = np.random.default_rng(1).random(30)
    found = Resamples.draw(10, 0).ratio(x, x, np.repeat(np.arange(10), 3))
    assert (found.value, found.low, found.high) == pytest.approx((1, 1, 1))


def test_a_seed_fixes_the_draws() -> None:
    assert (Resamples.draw(20, 5).times == Resamples.draw(20, 5).times).all()
    assert (Resamples.draw(20, 5).times.sum(1) == 20).all()
