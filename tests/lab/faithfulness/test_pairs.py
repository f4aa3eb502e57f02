"""The layout of pairs, and stays with one diagnosis changed."""

from __future__ import annotations

import numpy as np

from dx2px.lab.faithfulness.pairs import Pairs, copies_with
from dx2px.ragged import Ragged

PAIRS = Pairs(Ragged.from_lists([[3, 1], [2], [0, 4, 5]]), Ragged.from_lists([[0, 2], [1], [2, 0]]))


def naive() -> list[tuple[int, int, int]]:
    """(stay, procedure, diagnosis) of every pair."""
    return [
        (i, int(p), int(d))
        for i in range(len(PAIRS.diagnoses))
        for p in PAIRS.procedures[i]
        for d in PAIRS.diagnoses[i]
    ]


def test_pairs_stand_procedure_by_procedure() -> None:
    found = zip(
        PAIRS.stay[PAIRS.entry],
        PAIRS.procedures.values[PAIRS.entry],
        PAIRS.diagnoses.values[PAIRS.source],
        strict=True,
    )
    assert [tuple(map(int, one)) for one in found] == naive()


def test_a_table_is_read_at_the_right_places() -> None:
    table = np.arange(18.0).reshape(6, 3)  # one row per code
    picked = PAIRS.pick(lambda rows: table[rows.values])
    assert picked.tolist() == [table[d, p] for _, p, d in naive()]


def test_plans_are_turned_into_pairs() -> None:
    flat = [
        100 * i + 10 * int(p) + int(d)
        for i in range(3)
        for d in PAIRS.diagnoses[i]
        for p in PAIRS.procedures[i]
    ]
    expected = [100 * i + 10 * p + d for i, p, d in naive()]
    assert np.array(flat)[PAIRS.by_diagnosis()].tolist() == expected


def test_shares_and_softmax_sum_to_one() -> None:
    values = np.random.default_rng(0).random(PAIRS.offsets[-1])
    values[:2] = 0
    for shares in (PAIRS.shares(values), PAIRS.softmax(values * 1000)):
        np.testing.assert_allclose(np.add.reduceat(shares, PAIRS.offsets[:-1]), 1)
    assert PAIRS.shares(values)[:2].tolist() == [0.5, 0.5]  # nothing to share out is shared evenly


def test_order_within_a_procedure() -> None:
    values = np.array([1.0, 2, 5, 5, 7, 3, 9, 3, 0, 0, 1])
    assert PAIRS.order(values).tolist() == [1, 0, 0, 1, 0, 1, 0, 2, 1, 2, 0]


def test_copies_lose_one_diagnosis_each_but_never_the_last() -> None:
    left = PAIRS.diagnoses.copies_without()
    assert [row.tolist() for row in map(left.__getitem__, range(6))] == [
        [1], [3], [2], [4, 5], [0, 5], [0, 4],
    ]  # fmt: skip


def test_copies_change_one_code_each() -> None:
    changed = copies_with(PAIRS.diagnoses, 100)
    assert [row.tolist() for row in map(changed.__getitem__, range(6))] == [
        [103, 1], [3, 101], [102], [100, 4, 5], [0, 104, 5], [0, 4, 105],
    ]  # fmt: skip
