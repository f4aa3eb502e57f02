"""Levels of procedures that move to how common they are at a hospital."""

from __future__ import annotations

import numpy as np
import pytest

from dx2px.methods.coupling.levels import WORTH, WORTH_OF_NEW, moved_levels, worth
from dx2px.ragged import Ragged

STAYS = Ragged.from_lists([[0], [0], [0], [1], [0, 2], [1, 2]])


def scores() -> np.ndarray:
    return np.random.default_rng(0).normal(0, 1, (6, 4)).astype(np.float32)


def expected(moved: np.ndarray, balance: float) -> tuple[np.ndarray, np.ndarray]:
    """How often each procedure was coded, and how often the moved scores say; stay by stay."""
    coded, said = np.zeros(4), np.zeros(4)
    for row, lists in zip(moved, [[0], [0], [0], [1], [0, 2], [1, 2]], strict=True):
        weight = (1 + balance) / (balance + len(lists))
        coded[lists] += weight
        said += weight * len(lists) * np.exp(row) / np.exp(row).sum()
    return coded, said


@pytest.mark.parametrize("balance", [0.5, 2.0])
def test_the_stays_have_each_procedure_as_often_as_was_coded(balance: float) -> None:
    little = np.full(4, 1e-3)
    moved = scores() + moved_levels(scores(), STAYS, little, balance)
    coded, said = expected(moved, balance)
    np.testing.assert_allclose(said, coded, atol=0.02)


def test_the_moved_levels_are_the_likeliest_under_the_prior() -> None:
    a = worth(np.array([True, False, True, False]))
    assert a.tolist() == [WORTH, WORTH_OF_NEW, WORTH, WORTH_OF_NEW]
    delta = moved_levels(scores(), STAYS, a, 2.0)
    coded, said = expected(scores() + delta, 2.0)
    # The gradient of the loss and of the gamma prior of shape a and mean 1.
    np.testing.assert_allclose(coded - said + a - a * np.exp(delta), 0, atol=0.02)


def test_a_level_that_is_worth_much_stays() -> None:
    assert np.abs(moved_levels(scores(), STAYS, np.full(4, 1e6), 2.0)).max() < 1e-4
