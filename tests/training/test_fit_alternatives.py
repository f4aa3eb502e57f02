"""What excludes what, and how much is left once something is coded, found in stays where the truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dx2px.ragged import Ragged, offsets_of
from dx2px.scoring.calibration_record import from_record, to_record
from dx2px.scoring.correction import Correction
from dx2px.scoring.head import Head
from dx2px.training.fit_alternatives import fit_alternatives
from dx2px.training.fit_calibration import logistic
from dx2px.training.fit_completion import shown_and_left
from synthetic_models import SIGMOID

STILL = Head(
    *(np.full(shape, size, np.float32) for shape, size in ((5, 1), (5, 0), ((5, 2), 0), ((5, 2), 1))),
    1.0,
    0.0,
)


def test_only_the_pair_that_excludes_each_other_is_found() -> None:
    rng = np.random.default_rng(0)
    p = np.tile([0.5, 0.5, 0.5, 0.02, 0.02], (1000, 1))
    coded = rng.random(p.shape) < p
    coded[:, 1] = ~coded[:, 0]  # 0 and 1 exclude each other; 3 and 4 are too rare to tell
    coded[:, 3] &= ~coded[:, 4]
    procedures = Ragged(offsets_of(coded.sum(axis=1)), np.nonzero(coded)[1])
    eta = np.log(p / (1 - p)).astype(np.float32)
    assert fit_alternatives(STILL, eta, procedures).to_list() == [[0, 1]]


def test_of_each_stay_one_to_all_procedures_are_shown() -> None:
    procedures = Ragged.from_lists([[3, 1, 2]] * 600 + [[5]] * 50)
    shown, left = shown_and_left(procedures, np.random.default_rng(0))
    assert (shown.lengths + left.lengths == procedures.lengths).all()
    assert shown.lengths.min() == 1
    assert np.bincount(left.lengths[:600]).tolist() == pytest.approx([200, 200, 200], abs=40)
    assert not (shown.indicator(6) & left.indicator(6)).any()


def test_a_logistic_fit_finds_the_weights_and_never_turns_the_odds_round() -> None:
    rng = np.random.default_rng(0)
    X = np.stack([rng.normal(size=20_000), np.ones(20_000), rng.integers(0, 2, 20_000)], axis=1)
    true = np.array([0.8, -1.0, 0.5])
    coded = rng.random(20_000) < 1 / (1 + np.exp(-X @ true))
    start = np.array([1.0, 0.0, 0.0])
    np.testing.assert_allclose(logistic(X, coded, start), true, atol=0.08)
    assert logistic(X * [-1, 1, 1], coded, start).tolist() == start.tolist()


def test_completion_changes_only_stays_in_which_something_is_coded() -> None:
    stage = replace(SIGMOID, completion=Correction(1.0, -2.0, -0.5))
    scores = np.array([[0.0, 0.0, 0.0], [0.0, -np.inf, 0.0], [0.0, -np.inf, -np.inf]])
    p = stage.probability(scores)
    odds = np.log(p / (1 - p), where=p > 0, out=np.full(p.shape, -np.inf))
    assert odds[0].tolist() == pytest.approx([0, 0, 0])
    assert odds[1].tolist() == pytest.approx([-2, -np.inf, -2])
    assert odds[2, 0] == pytest.approx(-2 - 0.5 * np.log(2))
    again = from_record(to_record(replace(stage, coverages=np.array([0.9]), thresholds=np.array([0.1]))), {})
    assert again.completion is not None
    assert again.completion.numbers == [1.0, -2.0, -0.5]
