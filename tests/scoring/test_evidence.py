"""Rows of evidence: what a cohort says about its stays becomes the right rows, and nothing else does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from dx2px.cohort import Cohort
from dx2px.cohort.projection import project
from dx2px.cohort.vocabulary import Vocabulary
from dx2px.errors import InputError, ModelError
from dx2px.ragged import Ragged
from dx2px.scoring.cohort_evidence import known_of, layout_for, stay_rows
from dx2px.scoring.coupling import CouplingScorer
from dx2px.scoring.evidence import AGES, EvidenceLayout
from dx2px.scoring.known import OTHER, UNKNOWN, Known
from dx2px.scoring.segments import log_softmax


def cohort(**columns: list[object]) -> Cohort:
    stays = [["icd9cm:4019", "icd9cm:4280"], ["icd9cm:4280"], ["icd9cm:V3000"]]
    types = {"age": pa.int32()}
    context = {name: pa.array(values, types.get(name, pa.string())) for name, values in columns.items()}
    made = Cohort.from_lists(stays, [["icd9pcs:3995"], ["icd9pcs:8872", "icd9pcs:3995"], ["icd9pcs:9955"]])
    return replace(made, context=pa.table(context) if context else None)


FULL = cohort(
    principal=["icd9cm:4280", "icd9cm:9999", None],
    age=[70, None, 0],
    sex=["F", "M", None],
    admission=["emergency", "elective", "rocket"],
)


@pytest.fixture
def layout() -> EvidenceLayout:
    return EvidenceLayout(3, 3, principal=True, admissions=("elective", "emergency"))


def titles(layout: EvidenceLayout, rows: Ragged, stay: int) -> list[str]:
    principal, coded, context = layout.starts
    return [
        layout.context_rows[v - context].title
        if v >= context
        else f"coded {v - coded}"
        if v >= coded
        else f"principal {v - principal}"
        if v >= principal
        else f"diagnosis {v}"
        for v in rows[stay].tolist()
    ]


def test_each_fact_becomes_a_row_and_what_is_missing_none(layout: EvidenceLayout) -> None:
    rows = layout.rows(FULL.diagnoses, known_of(layout, FULL))
    assert titles(layout, rows, 0) == [
        "diagnosis 0",
        "diagnosis 1",
        "principal 1",
        "age 65–74, female",
        "emergency admission",
        "any stay",
    ]
    assert titles(layout, rows, 1) == [
        "diagnosis 1",
        "another principal diagnosis",
        "male",
        "elective admission",
        "any stay",
    ]
    assert titles(layout, rows, 2) == ["diagnosis 2", "age 0", "any stay"]


def test_a_single_stay_has_the_same_rows(layout: EvidenceLayout) -> None:
    rng = np.random.default_rng(0)
    for plain in (layout, replace(layout, principal=False, admissions=())):
        for _ in range(50):
            highest = [3, len(plain.ages), 2, len(plain.admissions)]
            facts = [
                int(rng.integers(low, high))
                for low, high in zip([OTHER, *[UNKNOWN] * 3], highest, strict=True)
            ]
            diagnoses, coded = rng.permutation(3)[: rng.integers(1, 4)], rng.permutation(3)[: rng.integers(3)]
            known = Known(np.array([facts], np.int32), Ragged.from_lists([coded]))
            whole = plain.rows(Ragged.from_lists([diagnoses]), known)
            alone = plain.rows_of_stay(diagnoses.tolist(), tuple(facts), coded.tolist())
            assert alone == whole[0].tolist()


def test_diagnoses_alone_get_the_background(layout: EvidenceLayout) -> None:
    rows = layout.rows(FULL.diagnoses)
    assert [titles(layout, rows, stay)[-1] for stay in range(3)] == ["any stay"] * 3
    assert rows.lengths.tolist() == [3, 2, 2]


def test_coded_procedures_are_rows_and_are_found_again(layout: EvidenceLayout) -> None:
    rows = layout.rows(FULL.diagnoses, Known.nothing(3).with_coded(FULL.procedures))
    assert titles(layout, rows, 1) == ["diagnosis 1", "coded 1", "coded 0", "any stay"]
    stay, procedure = layout.coded_in(rows)
    assert [len(found) for found in layout.coded_in(layout.rows(FULL.diagnoses))] == [0, 0]
    assert list(zip(stay.tolist(), procedure.tolist(), strict=True)) == [(0, 0), (1, 1), (1, 0), (2, 2)]


@pytest.mark.parametrize("age", [0, 1, 4, 5, 17, 18, 64, 65, 84, 85, 120])
def test_an_age_falls_into_its_band(layout: EvidenceLayout, age: int) -> None:
    band = int(layout.bands(np.array([age]))[0])
    assert AGES[band] <= age < (*AGES, 1000)[band + 1]
    assert known_of(layout, cohort(age=[age, None, age])).facts[:, 1].tolist() == [band, UNKNOWN, band]


def test_the_number_of_rows_is_that_of_what_they_stand_for(layout: EvidenceLayout) -> None:
    assert len(layout.context_rows) == layout.context == layout.size - layout.starts[2]
    assert len({row.name for row in layout.context_rows}) == layout.context


def test_a_layout_has_rows_for_what_the_stays_say() -> None:
    many = FULL.subset(np.tile([0, 1, 2], 30))
    found = layout_for(many)
    assert found.principal
    assert found.admissions == ("elective", "emergency", "rocket")
    plain = layout_for(cohort(principal=[None, None, None]))
    assert not plain.principal
    assert plain.admissions == ()


def test_a_principal_diagnosis_that_the_model_does_not_know_is_known_to_be_another(
    layout: EvidenceLayout,
) -> None:
    other = Vocabulary(("icd9cm:4019", "icd9cm:4280"))
    known = project(FULL, other, FULL.procedure_vocabulary).cohort
    assert known_of(replace(layout, diagnoses=2), known).facts[:, 0].tolist() == [1, OTHER]


def drawn(layout: EvidenceLayout) -> CouplingScorer:
    rng = np.random.default_rng(3)
    sizes = {"": layout.diagnoses, "principal_": 3, "coded_": 3, "context_": layout.context}
    arrays = {f"{kind}U": rng.normal(size=(n, 4)) for kind, n in sizes.items()}
    arrays |= {f"{kind}s": rng.normal(size=n) for kind, n in sizes.items()}
    arrays |= {"V": rng.normal(size=(3, 4)), "G": rng.normal(size=(4, 4)), "g": np.ones(4), "b": np.zeros(3)}
    singles = {name: array.astype(np.float32) for name, array in arrays.items()}
    return CouplingScorer.of(singles, {"evidence": layout.to_dict()})


def test_a_coded_procedure_is_no_question_and_the_rest_adds_up(layout: EvidenceLayout) -> None:
    scorer = drawn(layout)
    assert scorer.layout == layout
    rows = layout.rows(
        FULL.diagnoses, known_of(layout, FULL).with_coded(Ragged.from_lists([[1], [], [0, 2]]))
    )
    scores = scorer.scores(rows)
    assert np.isneginf(scores).tolist() == [[False, True, False], [False] * 3, [True, False, True]]
    pi = scorer.coupling(rows)
    together = np.add.reduceat(pi, rows.offsets[:-1], axis=0)
    np.testing.assert_allclose(together, np.exp(log_softmax(scores)), atol=1e-6)
    np.testing.assert_allclose(np.add.reduceat(scorer.significance(rows), rows.offsets[:-1]), 1, rtol=1e-6)


def test_rows_without_the_background_are_refused(layout: EvidenceLayout) -> None:
    with pytest.raises(InputError, match="background"):
        drawn(layout).scores(FULL.diagnoses)
    assert np.isfinite(drawn(layout).scores(stay_rows(drawn(layout), FULL, "codes"))).all()


@pytest.mark.parametrize(
    "evidence",
    [
        None,
        {},
        {"ages": [], "admissions": []},
        {"ages": [1, 2], "admissions": []},
        {"ages": [0, 0], "admissions": []},
        {"ages": [0, True], "admissions": []},
        {"ages": "0", "admissions": []},
        {"ages": [0, 1], "admissions": ["a", "a"]},
        {"ages": [0, 1], "admissions": [1]},
        {"ages": [0, 1], "admissions": ["a"]},
    ],
)
def test_settings_that_do_not_fit_the_rows_are_refused(layout: EvidenceLayout, evidence: object) -> None:
    arrays = {"U": np.zeros((3, 4)), "V": np.zeros((3, 4)), "context_U": np.zeros((layout.context, 4))}
    with pytest.raises(ModelError):
        EvidenceLayout.of(arrays, {"evidence": evidence})
