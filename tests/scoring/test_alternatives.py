"""Alternatives: no pair adds up to more than 1, others keep their probability, groups are cliques."""

from __future__ import annotations

import numpy as np
import pytest

from dx2px.scoring.alternatives import Alternatives

PAIRS = Alternatives([(0, 1), (1, 3), (4, 5)])


@pytest.fixture
def p() -> np.ndarray:
    return np.random.default_rng(0).random((200, 7))


def test_no_pair_adds_up_to_more_than_one_and_what_fits_is_left_alone(p: np.ndarray) -> None:
    found = PAIRS.limited(p)
    for first, second in PAIRS.pairs.tolist():
        both = p[:, first] + p[:, second]
        assert (found[:, first] + found[:, second]).max() <= 1 + 1e-12
        alone = (both <= 1) & (p[:, [0, 1, 3]].sum(axis=1) <= 1)
        np.testing.assert_array_equal(found[alone][:, first], p[alone][:, first])
    np.testing.assert_array_equal(found[:, [2, 6]], p[:, [2, 6]])


def test_asked_for_some_procedures_the_answer_is_the_same(p: np.ndarray) -> None:
    places = np.random.default_rng(1).integers(0, 7, (200, 4))
    some = PAIRS.limited(np.take_along_axis(p, places, 1), places, p[:, PAIRS.columns])
    np.testing.assert_allclose(some, np.take_along_axis(PAIRS.limited(p), places, 1), rtol=1e-12)


def test_groups_exclude_each_other_pair_by_pair() -> None:
    assert PAIRS.groups([6, 3, 0, 1, 5, 4]) == [(3, 1), (5, 4)]
    assert Alternatives([(0, 1), (1, 3), (0, 3)]).groups([3, 2, 1, 0]) == [(3, 1, 0)]
    assert PAIRS.groups([0, 3, 2]) == []


@pytest.mark.parametrize(
    "record", [None, [[1, 0]], [[0, 7]], [[0, 0]], [[-1, 2]], [[0]], [[0, 1.0]], [[0, True]]]
)
def test_pairs_that_cannot_be_are_refused(record: object) -> None:
    with pytest.raises(ValueError, match="pairs"):
        Alternatives.from_list(record, 7)


def test_kept_and_read_again() -> None:
    assert Alternatives.from_list(PAIRS.to_list(), 7).to_list() == PAIRS.to_list()
