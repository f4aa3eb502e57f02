"""Shifts of single procedures, fitted on few stays."""

from __future__ import annotations

import numpy as np

from dx2px.ragged import Ragged
from dx2px.scoring.calibration import sigmoid
from dx2px.training.fit_shifts import PARTS, RIDGE, likeliest_way, parts, shifts


def test_shifts_are_the_likeliest_under_the_ridge_and_rare_procedures_hardly_move() -> None:
    rng = np.random.default_rng(0)
    eta = rng.normal([0.0, 0.0, -7.0], 0.5, (3000, 3))
    coded = rng.random(eta.shape) < sigmoid(eta + np.array([1.0, 0.0, 1.0]))
    a = shifts(eta, coded).astype(np.float64)
    np.testing.assert_allclose((coded - sigmoid(eta + a)).sum(axis=0), RIDGE * a, atol=1e-3)
    np.testing.assert_allclose(a[:2], [1.0, 0.0], atol=0.15)
    assert 0 < a[2] < 0.7  # the ridge holds what few stays have


def test_much_of_a_head_is_taken_from_many_stays_that_need_it_and_little_from_few() -> None:
    rng = np.random.default_rng(1)
    eta = rng.normal(-1.0, 1.5, (4000, 6)).astype(np.float32)
    coded = rng.random(eta.shape) < sigmoid(0.3 * eta - 1.0)  # slopes, which no shift can give

    def of(stays: int) -> float:
        rows = [np.flatnonzero(line).tolist() for line in coded[:stays]]
        return likeliest_way(eta[:stays], Ragged.from_lists(rows))

    assert of(4000) >= 0.75
    assert of(30) < of(4000)


def test_all_parts_have_both_kinds_of_question() -> None:
    """Every other stay is asked with its diagnoses alone (`calibrating`)."""
    alone, part = np.arange(1001) % 2 == 0, parts(1001)
    assert set(part) == set(range(PARTS))
    for one in range(PARTS):
        np.testing.assert_allclose(alone[part == one].mean(), 0.5, atol=0.01)
