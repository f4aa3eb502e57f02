"""A cohort in numbers, on a case one can count by hand."""

from __future__ import annotations

from dx2px import Cohort, describe

COHORT = Cohort.from_lists(
    [["icd9cm:4280"], ["icd9cm:4280", "icd9cm:0389"], ["icd9cm:4280", "icd9cm:0389", "icd9cm:5856"]],
    [["icd9pcs:3995"], ["icd9pcs:3995"], ["icd9pcs:3893", "icd9pcs:3995"]],
    patient_ids=["a", "a", None],
    principal=["icd9cm:4280", None, "icd9cm:5409"],
    age=[70, None, None],
)


def test_counts() -> None:
    summary = describe(COHORT, top=2)
    assert (summary.stays, summary.patients) == (3, 1)
    dx = summary.diagnoses
    assert (dx.codes, dx.entries, dx.mean, dx.median, dx.most, dx.rarest) == (3, 6, 2.0, 2.0, 3, 1)
    assert dx.histogram == (0, 1, 1, 1)
    assert [(code.shown, code.stays) for code in dx.frequent] == [("428.0", 3), ("038.9", 2)]
    assert summary.procedures.frequent[0].share == 1.0


def test_what_is_known_about_the_stays() -> None:
    assert describe(COHORT).known == {"principal": 2, "age": 1, "sex": 0, "admission": 0}
    assert describe(COHORT.subset([1])).known["principal"] == 0


def test_a_subset_is_described_over_its_own_stays() -> None:
    assert describe(COHORT.subset([0])).diagnoses.rarest == 0
    empty = describe(COHORT.subset([]))
    assert (empty.stays, empty.diagnoses.mean, empty.diagnoses.most) == (0, 0.0, 0)
