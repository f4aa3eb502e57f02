"""The layout of the map: planted groups stay together, and the share of kept neighbours is what it says."""

from __future__ import annotations

import numpy as np
import pytest

from dx2px.errors import InputError
from dx2px.report.embedding import kept_neighbours, lay_out


def groups(each: int = 25, number: int = 5, spread: float = 0.15) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(number, 12), each, axis=0) + spread * rng.standard_normal((each * number, 12))
    return X, np.repeat(np.arange(number), each)


def test_planted_groups_stand_together() -> None:
    X, group = groups()
    places = lay_out(X)
    squares = ((places[:, None] - places[None]) ** 2).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    assert (group[squares.argmin(axis=1)] == group).all()
    assert places.min(axis=0) == pytest.approx([0, 0])
    assert places.max(axis=0) == pytest.approx([1, 1])


def test_it_keeps_far_more_neighbours_than_chance() -> None:
    X, _ = groups()
    rng = np.random.default_rng(1)
    assert kept_neighbours(X, lay_out(X)) > 0.5
    assert kept_neighbours(X, rng.random((len(X), 2))) < 0.15


def test_kept_neighbours_by_hand() -> None:
    """Directions at 0, 10, 20 and 90 degrees; on the map the last two have changed places."""
    angles = np.radians([0, 10, 20, 90])
    X = np.column_stack([np.cos(angles), np.sin(angles)]) * [[1], [5], [2], [7]]
    places = np.array([[0.0, 0], [0.1, 0], [0.9, 0], [0.25, 0]])
    # Nearest by direction 1, 0 (a tie with 2, to the earlier), 1, 2; on the map 1, 0, 3, 1.
    assert kept_neighbours(X, places, 1) == 0.5
    assert kept_neighbours(X, angles[:, None] * [[1.0, 0.0]], 2) == 1.0


def test_a_seed_fixes_it_and_lengths_do_not_matter() -> None:
    X, _ = groups(each=8)
    lengths = np.random.default_rng(2).uniform(0.5, 4, (len(X), 1))
    assert np.array_equal(lay_out(X), lay_out(X))
    # Rounding may tell two layouts apart in the end, not their neighbours.
    assert kept_neighbours(X, lay_out(X * lengths)) == pytest.approx(kept_neighbours(X, lay_out(X)), abs=0.1)


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4])
def test_few_vectors_have_places_too(number: int) -> None:
    places = lay_out(np.random.default_rng(0).standard_normal((number, 6)))
    assert places.shape == (number, 2)
    assert np.isfinite(places).all()
    assert len(np.unique(places, axis=0)) == number


def test_equal_vectors_are_set_in_a_row() -> None:
    assert len(np.unique(lay_out(np.ones((9, 4))), axis=0)) == 9


def test_vectors_that_are_not_finite_are_refused() -> None:
    with pytest.raises(InputError, match="not finite"):
        lay_out(np.array([[1.0, np.nan]]))
