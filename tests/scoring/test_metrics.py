"""Precision, recall and F1: cases to check by hand, and a naive loop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from dx2px.cohort import Ragged
from dx2px.errors import InputError
from dx2px.scoring.metrics import BATCH, Metrics, evaluate, evaluate_ranking


def metrics(ranked: list[list[int]], recorded: list[list[int]], at: tuple[int, ...]) -> Metrics:
    return evaluate_ranking(np.array(ranked), Ragged.from_lists(recorded), at)


def naive(ranked: NDArray[np.integer], recorded: Ragged, at: Sequence[int]) -> dict[str, dict[str, float]]:
    """The definitions, one stay after the other."""
    top: dict[str, dict[str, float]] = {}
    for L in at:
        sums = {"recall": 0.0, "precision": 0.0, "f1": 0.0}
        for stay, row in enumerate(ranked.tolist()):
            truth, given = set(recorded[stay].tolist()), row[:L]
            precision = len(truth & set(given)) / len(given)
            recall = len(truth & set(given)) / len(truth)
            both = precision + recall
            sums["precision"] += precision
            sums["recall"] += recall
            sums["f1"] += 2 * precision * recall / both if both else 0.0
        top[str(L)] = {name: 100 * total / len(ranked) for name, total in sums.items()}
    return top


def test_one_hit_among_two_of_four_recorded() -> None:
    found = metrics([[7, 2]], [[2, 3, 4, 5]], (1, 2)).to_dict()
    assert found == {
        "stays": 1,
        "top": {
            "1": {"recall": 0.0, "precision": 0.0, "f1": 0.0},
            "2": {"recall": 25.0, "precision": 50.0, "f1": pytest.approx(100 / 3)},
        },
    }


def test_means_are_over_stays_and_f1_is_averaged_not_recomputed() -> None:
    found = metrics([[0], [1]], [[0], [5]], (1,)).to_dict()["top"]["1"]
    assert found == {"recall": 50.0, "precision": 50.0, "f1": 50.0}
    uneven = metrics([[0, 1], [2, 3]], [[0, 1, 2, 3], [2]], (2,)).to_dict()["top"]["2"]
    assert uneven["precision"] == 75.0
    assert uneven["recall"] == 75.0
    assert uneven["f1"] == pytest.approx(100 * (2 / 3 + 2 / 3) / 2)


def test_all_right_is_100_and_all_wrong_is_0() -> None:
    right = metrics([[4, 1, 0]], [[0, 1, 4]], (3,)).to_dict()["top"]["3"]
    wrong = metrics([[2, 3, 5]], [[0, 1, 4]], (3,)).to_dict()["top"]["3"]
    assert set(right.values()) == {100.0}
    assert set(wrong.values()) == {0.0}


def test_precision_divides_by_what_could_be_recommended() -> None:
    found = metrics([[0, 1, 2]], [[0, 2]], (3, 10))
    assert found.to_dict()["top"]["10"] == found.to_dict()["top"]["3"]
    assert found.precision.tolist() == [[2 / 3, 2 / 3]]


def test_an_entry_below_0_recommends_nothing() -> None:
    found = metrics([[1, -1, -1], [-1, -1, -1]], [[1, 2], [0]], (1, 3))
    assert found.precision.tolist() == [[1, 1], [0, 0]]
    assert found.recall.tolist() == [[0.5, 0.5], [0, 0]]
    assert found.f1[1].tolist() == [0, 0]


def test_per_stay_values_are_there_for_paired_comparisons() -> None:
    found = metrics([[0, 1], [2, 0], [1, 2]], [[0], [0, 2], [0]], (1, 2))
    assert len(found) == 3
    assert found.hits.tolist() == [[1, 1], [1, 2], [0, 0]]
    assert found.recall.tolist() == [[1, 1], [0.5, 1], [0, 0]]
    assert found.mean("recall") == {1: 50.0, 2: pytest.approx(200 / 3)}


@pytest.mark.parametrize("procedures", [4, 75, 300])
def test_batches_agree_with_the_naive_loop(procedures: int) -> None:
    rng = np.random.default_rng(procedures)
    stays = 9000  # more than two batches of ranking, the last one not full
    sizes = rng.integers(1, min(procedures, 40) + 1, stays)
    recorded = Ragged.from_lists(rng.choice(procedures, size, replace=False) for size in sizes)
    diagnoses = Ragged.from_lists(np.arange(stays)[:, None])
    scores = np.round(rng.standard_normal((stays, procedures)), 1).astype(np.float32)

    found = evaluate(lambda rows: scores[rows.values], diagnoses, recorded, batch=1000)
    ranked = np.argsort(-scores, axis=1, kind="stable")[:, :10]
    assert found.to_dict()["stays"] == stays
    for L, expected in naive(ranked, recorded, (1, 3, 5, 10)).items():
        assert found.to_dict()["top"][L] == pytest.approx(expected)


def test_one_batch_of_scores_at_a_time() -> None:
    asked: list[int] = []

    def scores(rows: Ragged) -> NDArray[np.float32]:
        asked.append(len(rows))
        return np.zeros((len(rows), 3), np.float32)

    rows = Ragged.from_lists([[0]] * 10_000)
    evaluate(scores, rows, rows)
    assert asked == [BATCH] * 19 + [10_000 - 19 * BATCH]


def test_what_cannot_be_evaluated_is_said() -> None:
    one = Ragged.from_lists([[0]])
    with pytest.raises(InputError, match="no stays"):
        evaluate_ranking(np.empty((0, 3), int), Ragged.from_lists([]))
    with pytest.raises(InputError, match="without recorded"):
        metrics([[0]], [[]], (1,))
    with pytest.raises(InputError, match="2 stays were ranked but 1"):
        metrics([[0], [0]], [[1]], (1,))
    with pytest.raises(InputError, match="at least 1"):
        metrics([[0]], [[1]], (0,))
    with pytest.raises(InputError, match="not numbers"):
        evaluate(lambda rows: np.full((len(rows), 2), np.nan, np.float32), one, one)
