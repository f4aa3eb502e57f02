"""The best L of each row: hand-checked ties, and both routes against a plain sort."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dx2px.scoring.ranking import top_l


def plain(scores: NDArray[np.floating], L: int) -> list[list[int]]:
    return [sorted(range(len(row)), key=lambda p, row=row: (-row[p], p))[:L] for row in scores.tolist()]


def test_equal_scores_are_ranked_by_index() -> None:
    scores = np.array([[1, 3, 3, 0, 3], [0, 0, 0, 0, 0], [-1, -2, -1, -2, -3]])
    for dtype in (np.float32, np.float64, np.int64):
        assert top_l(scores.astype(dtype), 3).tolist() == [[1, 2, 4], [0, 1, 2], [0, 2, 1]]


def test_minus_zero_equals_zero_and_infinities_stand_at_the_ends() -> None:
    scores = np.array([[-0.0, 0.0, -np.inf, np.inf, -1e-45]], np.float32)
    assert top_l(scores, 5).tolist() == [[3, 0, 1, 4, 2]]


def test_no_more_than_there_are() -> None:
    assert top_l(np.array([[0.5, 0.7]], np.float32), 10).tolist() == [[1, 0]]
    assert top_l(np.empty((0, 4), np.float32), 3).shape == (0, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("columns", "L"), [(1, 1), (7, 3), (75, 10), (75, 75), (300, 10)])
def test_as_a_plain_sort_ranks(dtype: type[np.floating], columns: int, L: int) -> None:
    rng = np.random.default_rng(columns)
    for scores in (rng.standard_normal((40, columns)), rng.integers(-2, 3, (40, columns)) / 4):
        cast = scores.astype(dtype)
        assert top_l(cast, L).tolist() == plain(cast, L)
        assert top_l(cast, L).dtype == np.int32
        assert [top_l(row[None], L)[0].tolist() for row in cast] == plain(cast, L)
