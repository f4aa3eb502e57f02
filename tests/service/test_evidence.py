"""Facts about a stay over HTTP: the model's own answers, what it takes, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from dx2px.answers import Model
from dx2px.answers.audit import audit_stay
from dx2px.service import answer_schemas
from evidence_model import CLOSED, ECHO, HEART, HIP, OPEN, TRANSFUSION

FACTS: dict[str, Any] = {"principal": "820.21", "age": 80, "sex": "F", "admission": "elective"}


@pytest.fixture(scope="module")
def model(evidence_folder: Path) -> Model:
    return Model.load(evidence_folder)


def test_answers_are_the_models_own(knowing: TestClient, model: Model) -> None:
    asked = {"diagnoses": ["428.0"], **FACTS, "coded": ["88.72"]}
    brief = knowing.post("/api/recommend", json=asked).json()
    full = knowing.post("/api/explain", json=asked).json()
    facts = {**FACTS, "coded": ["88.72"]}
    assert brief == model.recommend(["428.0"], **facts).to_dict()
    assert full == model.explain(["428.0"], **facts).to_dict()
    answer_schemas.RecommendAnswer.model_validate(brief)
    answer_schemas.ExplainAnswer.model_validate(full)
    assert [one["kind"] for one in brief["evidence"]] == ["coded", "person", "admission", "background"]
    assert [one.get("principal") for one in brief["diagnoses"]] == [True, None]


@pytest.mark.parametrize("nothing", [{}, {"age": None, "coded": []}, dict.fromkeys((*FACTS, "coded"))])
def test_what_is_null_or_empty_is_not_told(
    knowing: TestClient, client: TestClient, nothing: dict[str, Any]
) -> None:
    answer = knowing.post("/api/recommend", json={"diagnoses": [HIP], **nothing}).json()
    assert [one["kind"] for one in answer["evidence"]] == ["background"]
    assert client.post("/api/recommend", json={"diagnoses": ["428.0"], **nothing}).status_code == 200


def test_an_audit_takes_the_facts_and_names_its_reasons(knowing: TestClient, model: Model) -> None:
    stays = [
        {"id": str(age), "diagnoses": [HIP, HEART], "procedures": [OPEN], "principal": HIP, "age": age}
        for age in (30, 80)
    ]
    young, old = knowing.post("/api/audit", json={"stays": stays}).json()["stays"]
    answer_schemas.AuditedStay.model_validate(young)
    assert [one["code"] for one in young["findings"] if one["kind"] == "unsupported"] == [OPEN]
    assert not [one for one in old["findings"] if one["kind"] == "unsupported"]
    alone = audit_stay(model, [HIP, HEART], [OPEN], id="30", principal=HIP, age=30).to_dict()
    titles = {one["code"]: one["title"] for one in young.pop("evidence")}
    assert young == alone
    assert titles["background"] == "any stay"
    assert model.layout is not None
    assert titles.items() <= {row.name: row.title for row in model.layout.context_rows}.items()


def test_the_model_says_what_it_takes(knowing: TestClient, client: TestClient) -> None:
    told = knowing.get("/api/model").json()
    answer_schemas.ModelAnswer.model_validate(told)
    assert told["evidence"]["principal"] is True
    assert told["evidence"]["admissions"] == ["elective", "emergency"]
    assert told["evidence"]["ages"][:2] == [0, 1]
    assert client.get("/api/model").json()["evidence"] is None


@pytest.mark.parametrize("fact", [*({name: value} for name, value in FACTS.items()), {"coded": ["39.95"]}])
@pytest.mark.parametrize("route", ["recommend", "explain"])
def test_a_model_of_diagnoses_alone_says_what_it_does_not_take(
    client: TestClient, route: str, fact: dict[str, Any]
) -> None:
    answer = client.post(f"/api/{route}", json={"diagnoses": ["428.0"], **fact})
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:dx2px:problem:not-with-this-model")
    assert f"it takes no {next(iter(fact))}." in answer.json()["detail"]


def test_an_audit_refuses_facts_that_the_model_does_not_take(client: TestClient) -> None:
    stay = {"diagnoses": ["V99"], "procedures": [], "age": 80}
    assert client.post("/api/audit", json={"stays": [stay]}).status_code == 409


def test_an_unknown_type_of_admission_is_refused_with_the_known_ones(knowing: TestClient) -> None:
    answer = knowing.post("/api/recommend", json={"diagnoses": [HIP], "admission": "rocket"})
    assert answer.status_code == 409
    assert "it knows elective, emergency" in answer.json()["detail"]
    assert "rocket" not in answer.text


@pytest.mark.parametrize(
    ("fact", "detail"),
    [
        ({"age": -1}, "must be at least 0.0"),
        ({"age": 131}, "must be at most 130.0"),
        ({"age": "80"}, "must be a number"),
        ({"age": True}, "must be a number"),
        ({"sex": "female"}, "must be 'F' or 'M'"),
        ({"admission": ""}, "must have at least 1 characters"),
        ({"admission": "x" * 65}, "must have at most 64 characters"),
        ({"principal": "\n"}, "is not valid"),
        ({"principal": ["428.0"]}, "must be text"),
        ({"coded": "88.72"}, "must be a list"),
        ({"coded": ["88.72", "88.72"]}, "must not repeat an item"),
        ({"coded": [f"{place:04d}" for place in range(201)]}, "must have at most 200 items"),
    ],
)
def test_a_fact_of_the_wrong_form_is_refused(knowing: TestClient, fact: dict[str, Any], detail: str) -> None:
    answer = knowing.post("/api/explain", json={"diagnoses": [HIP], **fact})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["detail"] == detail


def test_a_coded_stay_has_its_procedures_and_no_coded_ones(knowing: TestClient) -> None:
    stay = {"diagnoses": [HIP], "procedures": [OPEN], "coded": [OPEN]}
    assert knowing.post("/api/audit", json={"stays": [stay]}).status_code == 422


def test_a_coded_procedure_is_evidence_and_cannot_be_explained(knowing: TestClient) -> None:
    asked = {"diagnoses": [HIP], "coded": [OPEN]}
    best = knowing.post("/api/recommend", json=asked).json()["recommendations"]
    assert best[0]["code"] == TRANSFUSION
    assert OPEN not in {one["code"] for one in best}
    answer = knowing.post("/api/explain", json={**asked, "procedures": ["79.35", CLOSED]})
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:dx2px:problem:already-coded")


def test_without_a_plan_the_facts_are_still_told(knowing: TestClient) -> None:
    asked = {"diagnoses": [HIP], "procedures": ["00.66"], "age": 80, "coded": [ECHO]}
    answer = knowing.post("/api/explain", json=asked).json()
    answer_schemas.ExplainAnswer.model_validate(answer)
    assert answer["plan"]["mass"] == []
    assert [one["code"] for one in answer["evidence"]] == [ECHO, "age:75–84", "background"]
