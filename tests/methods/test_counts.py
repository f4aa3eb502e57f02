"""Counts against plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from dx2px.cohort import Cohort
from dx2px.methods.counts import Counts


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
