"""Counts against plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from dx2px.baselines.stays import Counts, Seen, mean_of_rows
from dx2px.cohort import Cohort, Ragged


def test_counts_are_those_of_a_loop_over_the_training_stays(planted: Any) -> None:
    cohort: Cohort = planted.cohort
    pairs = np.zeros((len(cohort.diagnosis_vocabulary), len(cohort.procedure_vocabulary)))
    for row in planted.training:
        for d in cohort.diagnoses[row]:
            for p in cohort.procedures[row]:
                pairs[d, p] += 1
    counts = Counts.of(cohort, planted.training)
    assert np.array_equal(counts.pairs, pairs)
    learned = cohort.subset(planted.training)
    assert np.array_equal(counts.diagnoses, learned.diagnosis_counts)
    assert np.array_equal(counts.procedures, learned.procedure_counts)
    np.testing.assert_allclose(counts.shares, learned.procedure_counts / len(learned))


def test_what_is_not_seen_is_left_out_row_by_row() -> None:
    seen = Seen(np.array([True, False, True]), np.array([5, 1], np.float32))
    assert seen.known(Ragged.from_lists([[1, 2], [1], [], [0, 2]])) == Ragged.from_lists(
        [[2], [], [], [0, 2]]
    )
    assert seen.scores(Ragged.from_lists([]), lambda rows: np.empty(0)).shape == (0, 2)


def test_the_mean_of_rows() -> None:
    table = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    means = mean_of_rows(table, Ragged.from_lists([[0, 2], [1]]))
    assert means.tolist() == [[3, 4], [3, 4]]
