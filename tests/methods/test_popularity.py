"""Popularity: the same ranking for everybody, by training stays alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dx2px.scoring.ranking import top_l
from dx2px.training.recommender import Recommender


def test_scores_are_training_counts_and_ties_go_by_index(
    planted: Any, fitted: Callable[[str], Recommender]
) -> None:
    counts = planted.cohort.subset(planted.training).procedure_counts
    scores = fitted("popularity").scores(planted.single)
    assert np.array_equal(scores, np.tile(counts, (12, 1)))
    assert top_l(scores, 13)[0].tolist() == sorted(range(13), key=lambda p: (-counts[p], p))
