"""Shares of the diagnoses in a procedure: exact where the method has a coupling, else by leaving one out."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dx2px.ragged import Ragged
from dx2px.scoring.baselines import LinearScorer
from dx2px.scoring.coupling import CouplingScorer
from dx2px.scoring.scorer import Scorer
from dx2px.scoring.shares import shares_of

D, P, M = 7, 5, 4
STAYS = Ragged.from_lists([[2], [0, 3, 6], [5, 1]])
STAY, PROCEDURE = np.array([1, 0, 2, 1]), np.array([4, 2, 0, 0])


def drawn(*shape: int) -> NDArray[np.float32]:
    return np.random.default_rng(len(shape) + sum(shape)).standard_normal(shape).astype(np.float32)


def coupling() -> CouplingScorer:
    shapes = {"U": (D, M), "V": (P, M), "G": (M, M), "g": (M,), "s": (D,), "b": (P,)}
    return CouplingScorer({name: drawn(*shape) for name, shape in shapes.items()})


def linear() -> LinearScorer:
    seen = {"seen": np.ones(D, np.float32), "popularity": np.ones(P, np.float32)}
    return LinearScorer({**seen, "W": drawn(D, P), "b": drawn(P)})


def falls(scorer: Scorer, stay: list[int], procedure: int) -> NDArray[np.float64]:
    """As the text reads: score the stay again without each of its diagnoses."""
    if len(stay) == 1:
        return np.ones(1)
    whole = scorer.scores(Ragged.from_lists([stay]))[0, procedure]
    others = [[other for other in stay if other != code] for code in stay]
    left = np.array([scorer.scores(Ragged.from_lists([rest]))[0, procedure] for rest in others])
    fall = np.maximum(whole - left.astype(np.float64), 0)
    return fall / fall.sum() if fall.sum() else np.full(len(stay), 1 / len(stay))


def test_with_a_coupling_they_are_its_columns() -> None:
    scorer, expected = coupling(), []
    for stay, procedure in zip(STAY, PROCEDURE, strict=True):
        column = scorer.coupling(Ragged.from_lists([STAYS[stay]]))[:, procedure]
        expected.append(column / column.sum())
    np.testing.assert_allclose(shares_of(scorer, STAYS, STAY, PROCEDURE), np.concatenate(expected), rtol=1e-5)


def test_without_one_they_are_how_far_the_score_falls() -> None:
    scorer = linear()
    questions = zip(STAY, PROCEDURE, strict=True)
    expected = [falls(scorer, STAYS[stay].tolist(), procedure) for stay, procedure in questions]
    np.testing.assert_allclose(
        shares_of(scorer, STAYS, STAY, PROCEDURE), np.concatenate(expected), rtol=1e-4, atol=1e-6
    )


def test_where_no_score_falls_all_diagnoses_share_alike() -> None:
    scorer = linear()
    scorer.W = -np.abs(scorer.W)
    assert shares_of(scorer, STAYS, np.array([1]), np.array([3])) == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("scorer", [coupling(), linear()], ids=["coupling", "leave-one-out"])
def test_a_diagnosis_alone_has_the_whole_share_and_no_question_has_no_answer(scorer: Scorer) -> None:
    assert shares_of(scorer, STAYS, np.array([0]), np.array([1])).tolist() == [1.0]
    none = np.empty(0, np.int64)
    assert len(shares_of(scorer, STAYS, none, none)) == 0
