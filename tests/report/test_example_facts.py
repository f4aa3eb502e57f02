"""What is told about shown stays: nothing that fewer than eleven measured stays share."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from dx2px.cohort import Cohort
from dx2px.report.example_facts import shown_facts
from dx2px.scoring.evidence import EvidenceLayout

HEART, KIDNEY = "icd9cm:4280", "icd9cm:5856"


def stays(rows: list[tuple[str, int, str, str]]) -> tuple[Cohort, EvidenceLayout]:
    made = Cohort.from_lists([[HEART, KIDNEY]] * len(rows), [["icd9pcs:3995"]] * len(rows))
    principal, age, sex, admission = zip(*rows, strict=True)
    columns = {"principal": principal, "sex": sex, "admission": admission}
    context = pa.table({**columns, "age": pa.array(age, pa.int32())})
    return replace(made, context=context), EvidenceLayout(2, 1, True, ("elective",))


def test_what_eleven_stays_share_is_told_with_the_first_year_of_the_age_band() -> None:
    cohort, layout = stays([(HEART, 78, "F", "elective")] * 11)
    assert shown_facts(layout, cohort, [3]) == [
        {"principal": HEART, "age": 75, "sex": "F", "admission": "elective"}
    ]


def test_what_ten_stays_share_is_not_told_but_their_principal_diagnosis_is_if_eleven_share_it() -> None:
    cohort, layout = stays([(HEART, 78, "F", "elective")] * 10 + [(HEART, 30, "F", "elective")])
    assert shown_facts(layout, cohort, [0, 10]) == [{"principal": HEART}] * 2
    cohort, layout = stays([(HEART, 78, "F", "elective")] * 10)
    assert shown_facts(layout, cohort, [0]) == [{}]


def test_a_principal_diagnosis_that_the_stay_does_not_list_is_not_told() -> None:
    cohort, layout = stays([("icd9cm:0010", 78, "F", "elective")] * 11)
    assert shown_facts(layout, cohort, [0]) == [{"age": 75, "sex": "F", "admission": "elective"}]


def test_a_model_of_diagnoses_alone_is_told_nothing() -> None:
    cohort, _ = stays([(HEART, 78, "F", "elective")] * 11)
    assert shown_facts(None, cohort, [0, 1]) == [{}, {}]
