"""Questions that tell more than diagnoses: each fact moves the answer, has its share, and is checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dx2px import AuditSettings, audit_batches, audit_file, audit_stay
from dx2px.answers import Model
from dx2px.answers.population import score_batches
from dx2px.errors import InputError, ModelError
from evidence_model import CLOSED, ECHO, HEART, HIP, HYPERTENSION, OPEN, TRANSFUSION, trained


@pytest.fixture(scope="module")
def model(evidence_folder: Path) -> Model:
    return Model.load(evidence_folder)


@pytest.fixture(scope="module")
def codes_model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp("codes") / "model"
    trained("codes").save(folder)
    return Model.load(folder)


def first(model: Model, **facts: Any) -> str:
    return model.recommend([HIP, HEART, HYPERTENSION], top=1, **facts).recommendations[0].code


def test_age_decides(model: Model) -> None:
    assert first(model, principal=HIP, age=81, coded=[TRANSFUSION]) == OPEN
    assert first(model, principal=HIP, age=33) == CLOSED


def test_the_principal_diagnosis_decides(model: Model) -> None:
    ranks = {}
    for principal in (HEART, HIP):
        answer = model.recommend([HIP, HEART, HYPERTENSION], top=4, principal=principal)
        ranks[principal] = next(one.rank for one in answer.recommendations if one.code == ECHO)
        assert [one.code for one in answer.diagnoses if one.principal] == [principal]
    assert ranks[HEART] < ranks[HIP]


def test_a_coded_procedure_is_evidence_and_is_not_recommended_again(model: Model) -> None:
    answer = model.recommend([HIP, HEART], top=10, coded=["79.35"])
    assert OPEN not in [one.code for one in answer.recommendations]
    assert answer.recommendations[0].code == TRANSFUSION
    assert answer.recommendations[0].because[0].code == OPEN
    assert [(one.code, one.kind) for one in answer.evidence] == [
        (OPEN, "coded"),
        ("background", "background"),
    ]
    with pytest.raises(InputError, match=r"79\.35: coded already"):
        model.explain([HIP], ["79.35"], coded=["79.35"])


def test_every_row_has_its_share_and_all_add_up(model: Model) -> None:
    answer = model.explain(
        [HIP, HEART], top=3, principal="820.21", age=80, sex="female", admission="Elective", coded=[ECHO]
    )
    assert [one.code for one in answer.evidence] == [
        ECHO,
        "age:75–84,sex:F",
        "admission:elective",
        "background",
    ]
    rows = [*answer.diagnoses, *answer.evidence]
    assert sum(row.significance for row in rows) == pytest.approx(1)
    for one in answer.procedures:
        assert {reason.code for reason in one.because} == {row.code for row in rows}
        assert sum(reason.share for reason in one.because) == pytest.approx(1)
    assert answer.plan.mass is not None
    assert answer.plan.mass.shape == (len(rows), 3)


def test_the_principal_diagnosis_need_not_be_listed_again(model: Model) -> None:
    listed = model.recommend([HIP, HEART], principal=HIP)
    short = model.recommend([HEART], principal=HIP)
    assert [d.code for d in short.diagnoses] == [HIP, HEART]
    assert short.to_dict() == listed.to_dict()


def test_a_principal_diagnosis_or_a_coded_procedure_that_is_unknown_is_told(model: Model) -> None:
    answer = model.recommend([HEART], principal="V30.00", coded=["00.66"])
    assert [(d.status, d.principal) for d in answer.diagnoses] == [("unknown", True), ("known", False)]
    told = {(one.kind, one.status) for one in answer.evidence}
    assert told == {("principal", "known"), ("background", "known"), ("coded", "unknown")}


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"age": -1}, "years"),
        ({"age": float("nan")}, "years"),
        ({"age": True}, "years"),
        ({"sex": "x"}, "F or M"),
        ({"admission": "rocket"}, "elective, emergency"),
    ],
)
def test_a_fact_that_cannot_be_is_refused(model: Model, facts: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        model.recommend([HIP], **facts)


def test_a_model_of_diagnoses_alone_says_what_it_does_not_take(codes_model: Model) -> None:
    assert codes_model.recommend([HIP], age=None, coded=None).evidence == ()
    with pytest.raises(ModelError, match="age or sex"):
        codes_model.recommend([HIP], age=3, sex="F")


def test_a_file_of_stays_is_answered_as_each_stay_alone(model: Model) -> None:
    batch = pa.record_batch(
        {
            "stay_id": ["a", "b", "c", "d"],
            "diagnoses": [["820.21", "428.0"], ["428.0"], ["820.20"], ["820.21"]],
            "principal": ["820.21", "V30.00", "82020", None],
            "age": pa.array([81, None, 30, 2], pa.int16()),
            "sex": pa.array(["F", "M", None, "?"]).dictionary_encode(),
            "admission": ["elective", None, "rocket", "emergency"],
        }
    )
    found = next(iter(score_batches(model, [batch], top=3))).to_pylist()
    facts: list[dict[str, Any]] = [
        {"principal": "820.21", "age": 81, "sex": "F", "admission": "elective"},
        {"principal": "V30.00", "sex": "M"},
        {"principal": "820.20", "age": 30},
        {"age": 2, "admission": "emergency"},
    ]
    for row, codes, about in zip(found, batch.column("diagnoses").to_pylist(), facts, strict=True):
        alone = model.recommend(codes, top=3, **about)
        assert row["recommendations"] == [one.code for one in alone.recommendations]
        assert row["probabilities"] == pytest.approx(
            [one.probability for one in alone.recommendations], rel=1e-5
        )


@pytest.mark.parametrize("column", [{"age": pa.array(["81"])}, {"sex": pa.array([1])}])
def test_a_column_of_the_wrong_type_is_refused(model: Model, column: dict[str, pa.Array]) -> None:
    batch = pa.record_batch({"stay_id": ["a"], "diagnoses": [["820.21"]], **column})
    with pytest.raises(InputError, match=f"The column {next(iter(column))} must hold"):
        list(score_batches(model, [batch]))


def test_an_audit_takes_the_facts_into_account(model: Model) -> None:
    young = audit_stay(model, [HIP, HEART], [OPEN], principal=HIP, age=30)
    old = audit_stay(model, [HIP, HEART], [OPEN], principal=HIP, age=80)
    assert [one.code for one in young.of_kind("unsupported")] == [OPEN]
    assert not old.of_kind("unsupported")


def test_the_same_model_answers_from_diagnoses_alone_when_nothing_else_is_told(
    model: Model, tmp_path: Path
) -> None:
    answer = model.recommend([HIP])
    assert [one.kind for one in answer.evidence] == ["background"]
    assert answer.recommendations[0].because[0].code == HIP


def test_a_principal_diagnosis_of_the_other_version_is_mapped_with_the_rest(model: Model) -> None:
    answer = model.recommend(["I50.9", HIP], map=True, principal="I50.9")
    assert [(one.code, one.principal) for one in answer.diagnoses] == [(HEART, True), (HIP, False)]
    assert answer.to_dict() == model.recommend([HIP], map=True, principal="I50.9").to_dict() | {
        "diagnoses": answer.to_dict()["diagnoses"]
    }


def test_an_answer_without_a_plan_keeps_what_was_told(model: Model) -> None:
    answer = model.unexplained([HIP], ["00.66"], principal=HIP, age=80, coded=[ECHO])
    assert [one.code for one in answer.evidence] == [ECHO, "age:75–84", "background"]
    assert [one.principal for one in answer.diagnoses] == [True]
    unknown = model.unexplained(["V30.00"], principal="V30.00")
    assert [(one.status, one.principal) for one in unknown.diagnoses] == [("unknown", True)]


def test_a_principal_diagnosis_that_is_not_listed_counts_everywhere(model: Model, tmp_path: Path) -> None:
    """In a file as in a question, for recommendations and for audits."""
    columns = {"stay_id": ["a"], "diagnoses": [["428.0"]], "procedures": [["79.35"]]}
    batch = pa.record_batch(
        columns | {"principal": ["820.21"], "age": pa.array([80.0, None], pa.float64())[:1]}
    )
    row = next(iter(score_batches(model, [batch], top=2))).to_pylist()[0]
    alone = model.recommend(["428.0"], top=2, principal="820.21", age=80)
    assert row["recommendations"] == [one.code for one in alone.recommendations]
    one = audit_stay(model, ["428.0"], ["79.35"], AuditSettings(precision=0.001), principal="820.21", age=80)
    found = {(f.code, round(f.probability, 4)) for f in one.findings}
    streamed = pa.Table.from_batches(audit_batches(model, [batch], AuditSettings(precision=0.001)))
    assert {(r["code"], round(r["probability"], 4)) for r in streamed.to_pylist()} == found
    pq.write_table(pa.Table.from_batches([batch]), tmp_path / "stays.parquet")
    whole = audit_file(model, tmp_path / "stays.parquet", AuditSettings(precision=0.001)).findings
    assert {(r["code"], round(r["probability"], 4)) for r in whole.to_pylist()} == found


def test_facts_of_a_file_are_read_as_those_of_a_question(model: Model) -> None:
    def top(**columns: Any) -> float:
        batch = pa.record_batch({"stay_id": ["a"], "diagnoses": [["820.21"]], **columns})
        return float(next(iter(score_batches(model, [batch], top=1))).to_pylist()[0]["probabilities"][0])

    def asked(**facts: Any) -> float:
        return model.recommend(["820.21"], top=1, **facts).recommendations[0].probability or 0.0

    assert top(principal=[" "]) == pytest.approx(asked(), rel=1e-5)
    assert top(age=[999]) == pytest.approx(asked(), rel=1e-5)
    assert top(sex=["female"]) == pytest.approx(asked(sex="F"), rel=1e-5)
    assert top(admission=["ELECTIVE "]) == pytest.approx(asked(admission="elective"), rel=1e-5)


def test_values_of_numpy_are_values_and_misspelt_facts_are_refused(model: Model) -> None:
    plain = model.recommend([HIP], age=80, coded=[OPEN]).to_dict()
    assert model.recommend([HIP], age=np.int64(80), coded=np.array([OPEN])).to_dict() == plain
    with pytest.raises(TypeError, match="prinicpal"):
        model.recommend([HIP], prinicpal=HIP)  # type: ignore[call-arg]
    with pytest.raises(InputError, match="leave `coded` out"):
        audit_stay(model, [HIP], [OPEN], coded=[OPEN])
    with pytest.raises(InputError, match="nothing is left"):
        model.recommend([HIP], coded=model.files.procedures)


def test_a_code_for_others_is_remarked_and_answered(model: Model) -> None:
    answer = model.recommend([HIP, "650"], sex="M", age=80, coded=["60.5", TRANSFUSION])
    (remark,) = answer.remarks
    assert remark.code == "icd9cm:650"
    assert remark.text == (
        "650 Normal delivery is a code for female patients from 9 to 64 years: please check code, sex and age."
    )
    assert answer.to_dict()["remarks"] == [{"code": "icd9cm:650", "text": remark.text}]
    assert "remarks" not in model.recommend([HIP, "650"], sex="F", age=30).to_dict()
    assert not model.recommend([HIP, "650"], age="", sex=" ", principal=" ").remarks  # blanks tell nothing
    assert [one.code for one in model.recommend([HIP], sex="F", coded=["60.5"]).remarks] == ["icd9pcs:605"]
    (meant,) = model.recommend([HIP, "585.66"]).remarks
    assert (meant.code, meant.instead) == ("icd9cm:58566", "icd9cm:5856")
