"""Accuracy by group and confusions: against plain loops, planted mistakes, and nothing below eleven told."""

from __future__ import annotations

import numpy as np
import pytest

from dx2px.codes import chapter
from dx2px.cohort import Cohort, Ragged
from dx2px.errors import InputError
from dx2px.report.breakdown import (
    Ranking,
    band_of,
    by_first_diagnosis,
    by_frequency,
    by_procedure,
    confusions,
    rank_stays,
)
from dx2px.scoring.metrics import evaluate

DIAGNOSES = ("icd9cm:25000", "icd9cm:4280", "icd9cm:486")
PROCEDURES = ("icd9pcs:3722", "icd9pcs:3995", "icd9pcs:8744", "icd9pcs:9390", "icd9pcs:9671", "icd9pcs:9904")


def cohort(stays: int, seed: int = 0) -> Cohort:
    rng = np.random.default_rng(seed)
    diagnoses = [rng.choice(DIAGNOSES, rng.integers(1, 4), replace=False).tolist() for _ in range(stays)]
    procedures = [rng.choice(PROCEDURES, rng.integers(1, 5), replace=False).tolist() for _ in range(stays)]
    return Cohort.from_lists([*diagnoses, list(DIAGNOSES)], [*procedures, list(PROCEDURES)])


def whole_numbers(diagnoses: Ragged) -> np.ndarray:
    """Scores with many ties, of the codes alone, so that a block scores as the whole does."""
    table = np.random.default_rng(7).integers(0, 3, (len(DIAGNOSES), len(PROCEDURES)))
    return np.stack([table[diagnoses[row]].sum(axis=0) for row in range(len(diagnoses))]).astype(np.float32)


def test_places_are_those_of_a_stable_sort() -> None:
    stays = cohort(700)
    ranking = rank_stays(whole_numbers, stays.diagnoses, stays)
    scores = whole_numbers(stays.diagnoses)
    expected = [
        np.argsort(-scores[row], kind="stable").tolist().index(code) + 1
        for row in range(len(stays))
        for code in stays.procedures[row]
    ]
    assert ranking.places.tolist() == expected
    assert np.array_equal(ranking.best[:, 0], np.argsort(-scores, axis=1, kind="stable")[:, 0])


def test_the_table_is_that_of_evaluate() -> None:
    stays = cohort(700)
    assert (
        rank_stays(whole_numbers, stays.diagnoses, stays).metrics().to_dict()
        == evaluate(whole_numbers, stays.diagnoses, stays.procedures).to_dict()
    )


def test_groups_by_first_diagnosis_are_means_of_their_stays() -> None:
    stays = cohort(400)
    ranking = rank_stays(whole_numbers, stays.diagnoses, stays)
    f1 = evaluate(whole_numbers, stays.diagnoses, stays.procedures, at=(5,)).f1[:, 0]
    first = np.array([chapter(stays.diagnoses_of(row)[0]) for row in range(len(stays))])
    found = by_first_diagnosis(ranking, chapter)
    assert [one.name for one in found.groups] == sorted(set(first))
    for one in found.groups:
        assert one.size == (first == one.name).sum()
        assert one.value == pytest.approx(100 * f1[first == one.name].mean())
        assert one.margin == pytest.approx(164.5 * f1[first == one.name].std() / np.sqrt(one.size))
    assert found.left_out == 0


def planted(coded: list[list[int]], best: list[int]) -> Ranking:
    """One diagnosis for all; the given procedure first, the others in the order of their codes."""
    stays = Cohort.from_lists(
        [["icd9cm:4280"]] * len(coded), [[PROCEDURES[code] for code in codes] for codes in coded]
    )
    place = {code: stays.procedure_vocabulary.get(text) for code, text in enumerate(PROCEDURES)}
    scores = np.tile(-np.arange(len(stays.procedure_vocabulary), dtype=np.float32), (len(coded), 1))
    for row, code in enumerate(best):
        scores[row, place[code]] = 9
    return rank_stays(lambda rows: scores[: len(rows)], stays.diagnoses, stays)


def test_confusions_are_counted_once_a_stay_with_the_best_ranked_coded() -> None:
    # Twelve stays with 3995 and 9671 for which 3722 ranks first: 3995 is next, so it is the one confused.
    # Eleven stays of 9671 for which 9904 ranks first; ten of 8744, too few to tell of; five are right.
    coded = [[1, 4]] * 12 + [[4]] * 11 + [[2]] * 10 + [[0]] * 5 + [[0, 5]]
    best = [0] * 12 + [5] * 11 + [0] * 10 + [0] * 5 + [0]
    found = confusions(planted(coded, best))
    assert [(one.instead, one.coded, one.stays) for one in found] == [
        ("icd9pcs:3722", "icd9pcs:3995", 12),
        ("icd9pcs:9904", "icd9pcs:9671", 11),
    ]
    assert [one.share for one in found] == pytest.approx([12 / 33, 11 / 33])


def test_a_model_that_is_always_right_confuses_nothing() -> None:
    assert confusions(planted([[0]] * 30, [0] * 30)) == []


def test_procedures_are_counted_by_chapter_and_small_groups_are_not_told() -> None:
    ranking = planted([[0], [4]] * 20 + [[1]] * 20 + [[2]] * 10, [0] * 70)
    found = by_procedure(ranking, lambda code: code)
    # Ten entries alone would follow from the rest, so the next smallest group goes with them.
    assert sum(one.size for one in found.groups) + found.left_out == 70
    assert all(one.size >= 11 for one in found.groups)
    assert found.left_out == 30


def test_bands_hold_the_procedures_of_their_frequency() -> None:
    ranking = planted([[0], [1], [4]] * 20, [0] * 60)
    order = ranking.stays.procedure_vocabulary
    counts = [{"icd9pcs:3722": 6000, "icd9pcs:3995": 11, "icd9pcs:9671": 49}[code] for code in order]
    found = by_frequency(ranking, counts)
    assert [(one.name, one.size) for one in found.groups] == [("11 to 49", 40), ("5,000 or more", 20)]
    assert [one.value for one in found.groups] == [100.0, 100.0]  # there are fewer than ten procedures


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "fewer than 11"),
        (10, "fewer than 11"),
        (11, "11 to 49"),
        (1000, "1,000 to 4,999"),
        (9_999_999, "5,000 or more"),
    ],
)
def test_words_of_bands(count: int, words: str) -> None:
    assert band_of(count) == words


def test_scores_that_are_not_numbers_are_refused() -> None:
    stays = cohort(3)
    with pytest.raises(InputError, match="not numbers"):
        rank_stays(lambda rows: np.full((len(rows), len(PROCEDURES)), np.nan), stays.diagnoses, stays)
