"""Probabilities procedure by procedure: a count by hand, what right ones show, and what a pooled average hides."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dx2px.scoring.per_procedure import LEAST, per_procedure


def test_losses_and_gaps_by_hand() -> None:
    p = np.tile([0.8, 0.4, 0.01], (40, 1))
    coded = np.zeros((40, 3), bool)
    coded[:20, 0] = True  # given 80 %, coded in half
    coded[:16, 1] = True  # given 40 %, coded in 40 %
    found = per_procedure(p, coded)
    first = 20 * np.log(0.8) + 20 * np.log(0.2)
    second = 16 * np.log(0.4) + 24 * np.log(0.6)
    assert found.log_loss == pytest.approx(-(first + second + 40 * np.log(0.99)) / 40)
    assert found.brier == pytest.approx((20 * 0.04 + 20 * 0.64 + 16 * 0.36 + 24 * 0.16) / 40 + 0.0001)
    assert [one.procedure for one in found.gaps] == [0, 1]
    assert found.gaps[0].gap == pytest.approx(0.3)
    assert found.gaps[1].gap == pytest.approx(0.0)
    assert found.mean_gap == pytest.approx(0.15)
    assert found.expected_over_observed is None  # no procedure is coded in enough stays
    assert found.counted == 0


def test_right_probabilities_show_the_gap_of_chance_and_no_more() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(1, 2, (4000, 150))
    found = per_procedure(p, rng.random(p.shape) < p)
    assert len(found.gaps) == 150
    assert found.mean_gap == pytest.approx(found.by_chance, rel=0.2)
    assert found.expected_over_observed is not None
    assert found.expected_over_observed == pytest.approx(found.ratio_by_chance, abs=0.01)
    low, high = found.expected_over_observed
    assert 0.95 < low < 1 < high < 1.05


def test_few_stays_leave_more_to_chance_and_only_what_is_counted_is_judged() -> None:
    """40 stays expected of each: chance alone makes 30 to 50 of them, and those with fewer than 30 are left out."""
    rng = np.random.default_rng(0)
    p = np.full((4000, 800), 0.01)
    found = per_procedure(p, rng.random(p.shape) < p)
    assert found.expected_over_observed == pytest.approx(found.ratio_by_chance, abs=0.05)
    assert found.ratio_by_chance == pytest.approx((40 / 50.5, 40 / 31), abs=0.05)


def test_an_average_that_is_right_hides_procedures_that_are_not() -> None:
    """Two procedures with 50 % each; one is always coded, the other never: right on average, wrong twice."""
    p = np.full((200, 2), 0.5)
    coded = np.tile([True, False], (200, 1))
    found = per_procedure(p, coded)
    assert p.mean() == coded.mean()
    assert found.mean_gap == 0.5
    assert found.wide_gap == 0.5
    assert found.counted == 1


def test_too_few_stays_are_not_judged_and_the_record_is_json() -> None:
    p = np.full((LEAST - 1, 2), 0.5)
    found = per_procedure(p, np.ones(p.shape, bool))
    assert found.gaps == ()
    record = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert record["measured"] == 0
    assert record["mean_gap"] is None
    assert record["log_loss"] == pytest.approx(2 * np.log(2))
