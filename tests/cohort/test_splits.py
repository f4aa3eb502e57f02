"""Splits: sizes, patients never divided, the same on every machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dx2px import Cohort, CohortError, Split, split_cohort
from dx2px.cohort import SplitBy

PINNED_STAY = [1, 2, 1, -1, 0, 2, -1, 2, 1, 0, 0, -1, -1, 0, 0, 1, 2, 1, 1, 2]
PINNED_PATIENT = [0, 0, 2, 2, 1, 1, -1, -1, 0, 0, 2, 2, -1, -1, 2, 2, 1, 1, 0, 0]


def cohort(stays: int, patients: list[str | None] | None = None) -> Cohort:
    return Cohort.from_lists([["icd9cm:4280"]] * stays, [["icd9pcs:3995"]] * stays, patient_ids=patients)


def test_parts_have_their_sizes_and_cover_all_stays() -> None:
    split = split_cohort(cohort(1000), folds=10, seed=3)
    assert len(split.test) == 200
    assert [len(split.validation(fold)) for fold in range(10)] == [80] * 10
    assert all(len(split.training(fold)) == 720 for fold in range(10))
    everyone = np.concatenate([split.test, *(split.validation(fold) for fold in range(10))])
    assert sorted(everyone) == list(range(1000))
    assert sorted([*split.training(4), *split.validation(4)]) == sorted(split.learning)


def test_no_patient_is_on_two_sides() -> None:
    rng = np.random.default_rng(1)
    patients = [f"p{n}" for n in rng.integers(0, 300, 1000)]
    split = split_cohort(cohort(1000, list(patients)), folds=5)
    assert split.by == "patient"
    parts: dict[str, set[int]] = {}
    for patient, part in zip(patients, split.part.tolist(), strict=True):
        parts.setdefault(patient, set()).add(part)
    assert all(len(numbers) == 1 for numbers in parts.values())
    assert abs(len(split.test) - 200) < 15


def test_stays_of_unknown_patients_stand_alone() -> None:
    split = split_cohort(cohort(400, [None] * 300 + ["one"] * 100), folds=2, test_share=0.5)
    assert len(set(split.part[300:].tolist())) == 1
    assert len(set(split.part[:300].tolist())) == 3


@pytest.mark.parametrize("by", ["stay", "patient"])
def test_a_seed_means_the_same_split_everywhere(by: SplitBy) -> None:
    """Pinned: a change here changes every published number."""
    people = [f"p{n // 2}" for n in range(20)]
    split = split_cohort(cohort(20, list(people)), by=by, folds=3, seed=7)
    assert split.part.tolist() == (PINNED_STAY if by == "stay" else PINNED_PATIENT)


def test_another_seed_gives_another_split() -> None:
    first, second = (split_cohort(cohort(200), seed=seed).part.tolist() for seed in (0, 1))
    assert first != second


def test_a_split_survives_its_file_and_holds_no_ids(tmp_path: Path) -> None:
    split = split_cohort(cohort(50, ["secret"] * 10 + [f"s{n}" for n in range(40)]), folds=4, seed=2)
    split.save(tmp_path / "split.parquet")
    again = Split.load(tmp_path / "split.parquet")
    assert again.part.tolist() == split.part.tolist()
    assert (again.folds, again.by, again.seed, again.test_share) == (4, "patient", 2, 0.2)
    assert b"secret" not in (tmp_path / "split.parquet").read_bytes()


def test_impossible_splits_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CohortError, match="no patient ids"):
        split_cohort(cohort(10), by="patient")
    with pytest.raises(CohortError, match="5 stays cannot be split into a test part and 10 folds"):
        split_cohort(cohort(5), folds=10)
    with pytest.raises(CohortError, match="at least 2, not 1"):
        split_cohort(cohort(50), folds=1)
    with pytest.raises(
        CohortError, match="cannot be split into a test part and 2 folds, because some would be empty"
    ):
        split_cohort(cohort(100, ["big"] * 97 + ["a", "b", "c"]), folds=2)
    with pytest.raises(CohortError, match="no fold 2: this split has folds 0 to 1"):
        split_cohort(cohort(10), folds=2).training(2)
    with pytest.raises(CohortError, match="test share"):
        split_cohort(cohort(10), test_share=1.0)
    (tmp_path / "x").write_text("no")
    with pytest.raises(CohortError, match="not a saved split"):
        Split.load(tmp_path / "x")
