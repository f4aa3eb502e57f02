"""Negatives: as many as procedures, uniform, and a function of seed, step and place alone."""

from __future__ import annotations

from itertools import combinations

import numba
import numpy as np
import pytest

from dx2px.errors import InputError
from dx2px.methods.negatives import sample_negatives
from dx2px.ragged import Ragged


def test_negatives_are_as_many_distinct_and_outside_the_stay():
    rng = np.random.default_rng(1)
    procedures = Ragged.from_lists([rng.choice(60, rng.integers(1, 31), replace=False) for _ in range(300)])
    negatives = sample_negatives(procedures, 60, seed=0, step=0)
    assert negatives.lengths.tolist() == procedures.lengths.tolist()
    for i in range(300):
        drawn = set(negatives[i].tolist())
        assert len(drawn) == len(negatives[i])
        assert drawn.isdisjoint(procedures[i].tolist())
        assert drawn <= set(range(60))


def test_every_set_of_negatives_is_equally_likely():
    """Two procedures of seven leave C(5, 2) = 10 pairs: chi-square over 20,000 draws, 9 degrees of freedom."""
    procedures = Ragged.from_lists([[4, 1]] * 20_000)
    negatives = sample_negatives(procedures, 7, seed=5, step=9).values.reshape(-1, 2)
    counts = dict.fromkeys(combinations([0, 2, 3, 5, 6], 2), 0)
    for pair in np.sort(negatives, axis=1):
        counts[tuple(pair.tolist())] += 1
    chi2 = sum((n - 2000) ** 2 / 2000 for n in counts.values())
    assert chi2 < 27.9  # passed by 999 fair samplers in 1,000


def test_a_small_vocabulary_gives_what_there_is():
    procedures = Ragged.from_lists([[0, 1, 2], [0, 1, 2, 3], [2]])
    negatives = sample_negatives(procedures, 4, seed=0, step=0)
    assert negatives[0].tolist() == [3]
    assert negatives[1].tolist() == []
    assert negatives[2].tolist()[0] in (0, 1, 3)
    with pytest.raises(InputError, match="vocabulary only 3"):
        sample_negatives(procedures, 3, seed=0, step=0)


def test_the_draw_depends_on_seed_and_step_and_on_nothing_else():
    procedures = Ragged.from_lists([np.arange(5)] * 50)

    def draw(seed: int, step: int) -> list[int]:
        return sample_negatives(procedures, 1000, seed=seed, step=step).values.tolist()

    first, threads = draw(1, 2), numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        assert draw(1, 2) == first
    finally:
        numba.set_num_threads(threads)
    assert draw(1, 3) != first
    assert draw(2, 2) != first
    assert draw(2, 1) != first
