"""Cohorts restricted to the codes that a model knows: nothing unknown remains, everything left out is counted."""

from __future__ import annotations

import numpy as np
import pytest

from dx2px.cohort import Cohort, Vocabulary
from dx2px.cohort.projection import project
from dx2px.errors import CohortError

DIAGNOSES = [
    ["icd9cm:4280", "icd9cm:25000"],
    ["icd10cm:I500"],
    ["icd9cm:25000", "icd10cm:I500", "icd9cm:4019"],
    ["icd10cm:I500"],
    ["icd9cm:4019"],
]
PROCEDURES = [
    ["icd9pcs:3995"],
    ["icd9pcs:3995"],
    ["icd9pcs:0017", "icd9pcs:3722"],
    ["icd9pcs:0017"],
    ["icd9pcs:0017"],
]
KNOWN_DX = Vocabulary(["icd9cm:25000", "icd9cm:4019", "icd9cm:4280", "icd9cm:V4581"])
KNOWN_PX = Vocabulary(["icd9pcs:3722", "icd9pcs:3995"])


@pytest.fixture
def cohort() -> Cohort:
    return Cohort.from_lists(DIAGNOSES, PROCEDURES, patient_ids=["a", "a", "b", "c", "d"])


def test_only_known_codes_and_whole_stays_remain(cohort: Cohort) -> None:
    projected = project(cohort, KNOWN_DX, KNOWN_PX)
    kept = projected.cohort
    assert projected.rows.tolist() == [0, 2]
    assert [kept.diagnoses_of(row) for row in range(2)] == [
        ("icd9cm:4280", "icd9cm:25000"),
        ("icd9cm:25000", "icd9cm:4019"),
    ]
    assert [kept.procedures_of(row) for row in range(2)] == [("icd9pcs:3995",), ("icd9pcs:3722",)]
    assert kept.stay_ids.to_pylist() == ["1", "3"]
    assert kept.patient_ids is not None
    assert kept.patient_ids.to_pylist() == ["a", "b"]
    assert kept.diagnosis_vocabulary == KNOWN_DX
    assert kept.procedure_vocabulary == KNOWN_PX


def test_what_is_left_out_is_counted(cohort: Cohort) -> None:
    assert project(cohort, KNOWN_DX, KNOWN_PX).counts.to_dict() == {
        "stays": 5,
        "stays_kept": 2,
        "stays_without_diagnosis": 2,
        "stays_without_procedure": 2,
        "diagnoses": {"codes": 4, "codes_set_aside": 1, "entries": 8, "entries_set_aside": 3},
        "procedures": {"codes": 3, "codes_set_aside": 1, "entries": 6, "entries_set_aside": 3},
    }


def test_a_cohort_over_the_models_own_vocabularies_is_unchanged(cohort: Cohort) -> None:
    projected = project(cohort, cohort.diagnosis_vocabulary, cohort.procedure_vocabulary)
    assert projected.cohort.diagnoses == cohort.diagnoses
    assert projected.cohort.procedures == cohort.procedures
    assert projected.counts.stays_kept == 5
    assert projected.counts.diagnoses.entries_set_aside == 0


def test_codes_that_do_not_occur_in_a_part_are_not_counted(cohort: Cohort) -> None:
    part = cohort.subset([0])
    counts = project(part, KNOWN_DX, KNOWN_PX).counts
    assert (counts.diagnoses.codes, counts.diagnoses.codes_set_aside) == (2, 0)


def test_no_stay_left_is_an_error(cohort: Cohort) -> None:
    with pytest.raises(CohortError, match=r"None of the 5 stays has both .* knows\."):
        project(cohort, Vocabulary(["icd9cm:0010"]), KNOWN_PX)
    with pytest.raises(
        CohortError, match=r"has procedures in ICD-9-CM, the model has ICD-10-PCS: choose a model"
    ):
        project(cohort, KNOWN_DX, Vocabulary(["icd10pcs:5A1D70Z"]))


def test_projected_indices_mean_the_models_rows(cohort: Cohort) -> None:
    kept = project(cohort, KNOWN_DX, KNOWN_PX).cohort
    assert kept.diagnoses.values.tolist() == [2, 0, 0, 1]
    assert np.array_equal(kept.diagnosis_counts, [2, 1, 1, 0])
