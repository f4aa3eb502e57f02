from __future__ import annotations

from itertools import combinations

import numba
import numpy as np
import pytest

from dx2px.errors import InputError
from dx2px.model.batch import Batch, group, merge, owners, sample_negatives
from dx2px.ragged import Ragged


def test_rows_come_back_as_they_were_laid():
    rows = Ragged.from_lists([[3, 1], [], [2]])
    assert [row.tolist() for row in (rows[0], rows[1], rows[2])] == [[3, 1], [], [2]]
    assert rows.lengths.tolist() == [2, 0, 1]
    assert rows.row_of_entry.tolist() == [0, 0, 2] == owners(rows.offsets).tolist()


def test_take_chooses_rows_in_the_order_given_with_repeats():
    rows = Ragged.from_lists([[3, 1], [], [2], [9, 8, 7]]).take([3, 1, 0, 3])
    assert [rows[i].tolist() for i in range(4)] == [[9, 8, 7], [], [3, 1], [9, 8, 7]]


def test_inconsistent_arrays_are_refused():
    with pytest.raises(InputError, match="end at 3"):
        Ragged(np.array([0, 3]), np.array([1, 2]))
    with pytest.raises(InputError, match="start at 0"):
        Ragged(np.array([1, 2]), np.array([1, 2]))
    with pytest.raises(InputError, match="must be equal"):
        Batch(Ragged.from_lists([[1]]), Ragged.from_lists([[1], [2]]), Ragged.from_lists([[1]]))
    with pytest.raises(InputError, match="at least one diagnosis"):
        Batch(Ragged.from_lists([[]]), Ragged.from_lists([[1]]), Ragged.from_lists([[2]]))


def test_grouping_finds_every_occurrence_of_every_code():
    codes = np.random.default_rng(0).integers(0, 30, 200).astype(np.int32)
    slot, distinct, groups, places = group(codes, np.zeros(40, np.int32))
    assert distinct.tolist() == np.unique(codes).tolist()
    assert distinct[slot].tolist() == codes.tolist()
    for q, code in enumerate(distinct):
        assert places[groups[q] : groups[q + 1]].tolist() == np.flatnonzero(codes == code).tolist()


def test_targets_are_procedures_then_negatives():
    P, N = Ragged.from_lists([[1, 2], [3]]), Ragged.from_lists([[7], [8, 9]])
    indptr, codes = merge(P.offsets, P.values, N.offsets, N.values)
    assert (indptr.tolist(), codes.tolist()) == ([0, 3, 6], [1, 2, 7, 3, 8, 9])


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
