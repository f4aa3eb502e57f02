"""The routes answer as the model does; what they promise in OpenAPI, they keep."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from dx2px.answers import Model, explanation_schema
from dx2px.answers.audit import audit_stay
from dx2px.answers.results import SCOPE
from dx2px.answers.shipped import model_path
from dx2px.service import ServiceConfig, answer_schemas, create_app, schemas
from dx2px.service.answers import Answers
from dx2px.service.served import Served


@pytest.fixture
def model(served: Served) -> Model:
    return served.answers.model


def test_recommends_as_the_model_does(client: TestClient, model: Model) -> None:
    asked = ["428.0", "icd9cm:25000", "V99"]
    answer = client.post("/api/recommend", json={"diagnoses": asked, "top": 3})
    assert answer.status_code == 200
    assert answer.json() == model.recommend(asked, 3).to_dict()
    answer_schemas.RecommendAnswer.model_validate(answer.json())
    assert answer.json()["recommendations"][0]["code"] == "icd9pcs:3722"
    assert [one["status"] for one in answer.json()["diagnoses"]] == ["known", "known", "unknown"]


def test_explains_as_the_model_does(client: TestClient, model: Model) -> None:
    asked = {"diagnoses": ["4280", "250.00"], "procedures": ["37.22", "39.95", "99.99"]}
    answer = client.post("/api/explain", json=asked)
    assert answer.json() == model.explain(asked["diagnoses"], asked["procedures"]).to_dict()
    answer_schemas.ExplainAnswer.model_validate(answer.json())
    mass = answer.json()["plan"]["mass"]
    assert sum(map(sum, mass)) == pytest.approx(1, abs=1e-3)
    assert mass[0][0] > mass[0][1]  # 4280 goes with 3722


def test_the_openapi_document_names_what_the_schema_of_explanations_names(client: TestClient) -> None:
    told = client.get("/openapi.json").json()["components"]["schemas"]
    schema = explanation_schema()
    parts = {"Diagnosis": "diagnosis", "Procedure": "procedure", "Plan": "plan"}
    for name, part in parts.items():
        assert set(told[name]["required"]) == set(schema["$defs"][part]["required"]), name
    assert set(told["ExplainAnswer"]["required"]) == set(schema["required"])
    kinds = schema["$defs"]["plan"]["properties"]["kind"]["enum"]
    assert told["Plan"]["properties"]["kind"]["enum"] == kinds


def test_the_papers_plan_is_given_on_request(client: TestClient, model: Model) -> None:
    asked = {"diagnoses": ["4280", "250.00"], "plan": "transport"}
    told = client.post("/api/explain", json=asked).json()
    assert told == model.explain(asked["diagnoses"], plan="transport").to_dict()
    assert told["plan"]["kind"] == "transport"
    assert client.post("/api/explain", json=asked | {"plan": "best"}).status_code == 422


def test_explains_the_best_where_no_procedures_are_named(client: TestClient, model: Model) -> None:
    answer = client.post("/api/explain", json={"diagnoses": ["4280"], "procedures": None, "top": 2})
    assert answer.json() == model.explain(["4280"], None, 2).to_dict()


@pytest.mark.parametrize("route", ["/api/recommend", "/api/explain"])
def test_codes_that_are_all_unknown_are_answered_as_unknown(client: TestClient, route: str) -> None:
    answer = client.post(route, json={"diagnoses": ["V99", "no code"]})
    assert answer.status_code == 200
    told = answer.json()
    assert [one["status"] for one in told["diagnoses"]] == ["unknown", "unknown"]
    assert all(one["significance"] == 0 for one in told["diagnoses"])
    if route == "/api/recommend":
        answer_schemas.RecommendAnswer.model_validate(told)
        assert told["recommendations"] == []
    else:
        answer_schemas.ExplainAnswer.model_validate(told)
        assert told["plan"]["mass"] == []


@pytest.fixture(scope="module")
def nhds() -> TestClient:
    """The package's own model, which knows ICD-9 alone."""
    app = create_app(Served.load(model_path(None)), ServiceConfig())
    return TestClient(app, base_url="http://localhost:8000")


@pytest.fixture(scope="module")
def nhds_diagnoses() -> list[str]:
    """As many diagnoses as a request may have."""
    return list(Model.load().files.diagnoses)[::10][: schemas.MOST_CODES]


@pytest.mark.parametrize("route", ["/api/recommend", "/api/explain"])
def test_unknown_codes_tell_what_became_of_their_mapping(nhds: TestClient, route: str) -> None:
    told = nhds.post(route, json={"diagnoses": ["icd10cm:Z3A39"]}).json()
    assert [one["status"] for one in told["diagnoses"]] == ["unknown"]
    assert [one["kind"] for one in told["mapping"]] == ["no-map"]


@pytest.mark.parametrize("asked", [{"diagnoses": ["428.0"]}, {"diagnoses": ["icd10cm:I509"], "map": True}])
def test_a_coverage_that_the_model_lacks_is_refused(nhds: TestClient, asked: dict[str, Any]) -> None:
    answer = nhds.post("/api/recommend", json=asked | {"coverage": 0.02})
    assert answer.status_code == 409
    assert answer.json()["type"] == "urn:dx2px:problem:not-with-this-model"


@pytest.mark.parametrize(
    ("route", "listed", "more"),
    [
        ("/api/recommend", "recommendations", {}),
        ("/api/explain", "procedures", {}),
        ("/api/explain", "procedures", {"plan": "transport"}),
    ],
)
def test_the_largest_answer_is_bounded_and_the_rest_is_had_on_request(
    nhds: TestClient, nhds_diagnoses: list[str], route: str, listed: str, more: dict[str, str]
) -> None:
    """Reasons for all procedures of a set of 99 % coverage would be ten megabytes."""
    asked = {"diagnoses": nhds_diagnoses, **more}
    answer = nhds.post(route, json=asked | {"coverage": 0.99})
    assert len(answer.content) < 1_000_000
    told = answer.json()
    assert told["with_reasons"] == schemas.MOST_TOP < told["coverage"]["set_size"] == len(told[listed])
    first, rest = told[listed][: schemas.MOST_TOP], told[listed][schemas.MOST_TOP :]
    others = 0 if more else len(told.get("evidence", []))  # the paper's plan has diagnoses alone
    reasons = len(nhds_diagnoses) + others
    assert all(len(one["because"]) == reasons for one in first)
    assert not any(one["because"] for one in rest)
    named = [one["code"] for one in rest[-2:]]
    explained = nhds.post("/api/explain", json=asked | {"procedures": named}).json()
    assert [one["code"] for one in explained["procedures"]] == named
    assert all(len(one["because"]) == reasons for one in explained["procedures"])
    assert "with_reasons" not in explained


def test_health_is_answered_while_costly_requests_are_under_way(
    nhds: TestClient, nhds_diagnoses: list[str]
) -> None:
    stays = [{"diagnoses": nhds_diagnoses, "procedures": []}] * 5
    done: list[str] = []

    async def call(method: str, path: str, body: bytes = b"") -> None:
        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": headers}

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            assert message.get("status", 200) == 200

        await nhds.app(scope, receive, send)  # type: ignore[arg-type]
        done.append(path)

    async def together() -> None:
        audit = json.dumps({"stays": stays}).encode()
        await asyncio.gather(*(call("POST", "/api/audit", audit) for _ in range(4)), call("GET", "/livez"))

    asyncio.run(together())
    assert done == ["/livez"] + ["/api/audit"] * 4


def test_an_ambiguous_code_is_refused_without_being_named(client: TestClient) -> None:
    answer = client.post("/api/recommend", json={"diagnoses": ["E030"]})
    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:dx2px:problem:ambiguous-code"
    assert "E030" not in answer.text
    assert client.post("/api/recommend", json={"diagnoses": ["icd10cm:E030"]}).status_code == 200


def test_audits_as_the_model_does(client: TestClient, model: Model) -> None:
    stays = [
        {"id": "a", "diagnoses": ["428.0", "V99"], "procedures": ["39.95", "00.00"]},
        {"diagnoses": ["428.0"], "procedures": ["37.22"]},
        {"id": None, "diagnoses": ["V99"], "procedures": []},
    ]
    answer = client.post("/api/audit", json={"stays": stays})
    answer_schemas.AuditAnswer.model_validate(answer.json())
    expected = [audit_stay(model, s["diagnoses"], s["procedures"], id=s.get("id")).to_dict() for s in stays]
    assert answer.json()["stays"] == expected
    first, second, third = answer.json()["stays"]
    assert "icd9pcs:3722" in [one["code"] for one in first["findings"]]
    assert "icd9pcs:3722" not in [one["code"] for one in second["findings"]]
    assert first["unknown"] == ["icd10cm:V99", "icd9pcs:0000"]
    assert (third["id"], third["findings"]) == (None, [])


def test_neighbors_are_the_models(client: TestClient, model: Model) -> None:
    answer = client.get("/api/neighbors/428.0", params={"top": 2})
    assert answer.json() == model.neighbors("428.0", 2).to_dict()
    answer_schemas.NeighborsAnswer.model_validate(answer.json())
    assert client.get("/api/neighbors/V99").status_code == 404
    assert client.get("/api/neighbors/0389").status_code == 422  # a diagnosis and a procedure


def codes(client: TestClient, q: str, **more: Any) -> list[dict[str, Any]]:
    answer = client.get("/api/codes", params={"q": q, **more})
    assert answer.status_code == 200
    answer_schemas.CodesAnswer.model_validate(answer.json())
    found: list[dict[str, Any]] = answer.json()["codes"]
    return found


def test_type_ahead_knows_everyday_words_forgives_mistakes_and_puts_common_codes_first(
    nhds: TestClient,
) -> None:
    assert codes(nhds, "heart attack")[0]["dotted"] == "410.71"
    assert codes(nhds, "diabetis")[0]["dotted"] == "250.00"
    assert [one["dotted"] for one in codes(nhds, "heart fail")[:2]] == ["428.0", "428.9"]
    assert codes(nhds, "C-section", kind="procedure")[0]["dotted"] == "74.1"


def test_type_ahead_puts_known_codes_first(client: TestClient) -> None:
    found = codes(client, "heart failure")
    assert found[0] == {
        "code": "icd9cm:4280",
        "dotted": "428.0",
        "system": "ICD-9-CM",
        "title": "Congestive heart failure, unspecified",
        "known": True,
        "other_version": False,
    }
    assert len(found) == 20
    assert [one["known"] for one in found] == sorted((one["known"] for one in found), reverse=True)
    assert len({one["code"] for one in found}) == 20


def test_type_ahead_keeps_kinds_apart_and_counts(client: TestClient) -> None:
    assert all(one["code"].startswith("icd9pcs:") for one in codes(client, "heart", kind="procedure"))
    assert len(codes(client, "a", limit=3)) == 3
    assert codes(client, "zzzzzz") == []
    assert codes(client, "...") == []


def test_type_ahead_shows_other_systems_only_where_its_own_have_nothing(client: TestClient) -> None:
    found = codes(client, "0DTJ4ZZ", kind="procedure")
    assert [(one["code"], one["known"]) for one in found] == [("icd10pcs:0DTJ4ZZ", False)]


def test_the_model_introduces_itself(client: TestClient, model: Model) -> None:
    told = client.get("/api/model").json()
    answer_schemas.ModelAnswer.model_validate(told)
    assert (told["diagnoses"], told["procedures"]) == (5, 4)
    assert told["metrics"] == [{"top": 1, "recall": 12.5, "precision": 42.0, "f1": 17.3}]
    assert told["calibration"] == {"stays": 20}
    assert told["plan"] == model.explain(["4280"]).plan.kind
    assert told["scope"] == SCOPE
    assert told["card"].startswith("# Planted")
    assert told["name"] == "model"  # its folder


def test_health_and_metrics(client: TestClient) -> None:
    assert client.get("/livez").json() == {"status": "alive"}
    assert client.get("/readyz").json() == {"status": "ready"}
    client.post("/api/recommend", json={"diagnoses": ["4280"]})
    client.get("/nowhere")
    text = client.get("/metrics").text
    assert 'dx2px_requests_total{method="POST",route="/api/recommend",status="200"} 1.0' in text
    assert 'dx2px_requests_total{method="GET",route="(unmatched)",status="404"} 1.0' in text
    assert "dx2px_model_diagnoses 5.0" in text


def test_codes_of_the_other_version_are_mapped_unless_refused(nhds: TestClient) -> None:
    asked = {"diagnoses": ["428.0", "O34.211"]}
    for route, schema in (
        ("recommend", answer_schemas.RecommendAnswer),
        ("explain", answer_schemas.ExplainAnswer),
    ):
        told = nhds.post(f"/api/{route}", json=asked).json()
        schema.model_validate(told)
        (mapped,) = told["mapping"]
        assert (mapped["from"], mapped["kind"], mapped["via"]) == (
            "icd10cm:O34211",
            "parent",
            "icd10cm:O3421",
        )
        refused = nhds.post(f"/api/{route}", json=asked | {"map": False})
        assert (refused.status_code, refused.json()["type"]) == (409, "urn:dx2px:problem:other-icd-version")
        assert "O34" not in refused.text


def test_a_question_is_answered_in_its_version_unless_another_is_asked_for(nhds: TestClient) -> None:
    assert nhds.get("/api/model").json()["answers_in"] == ["icd9pcs", "icd10pcs"]

    def first(**asked: Any) -> dict[str, Any]:
        told = nhds.post("/api/recommend", json=asked).json()
        answer_schemas.RecommendAnswer.model_validate(told)
        found: dict[str, Any] = told["recommendations"][0]
        return found

    assert first(diagnoses=["M17.11"])["family"]["side"] == "right"
    assert first(diagnoses=["M17.11"], answer_in="icd9pcs")["code"] == "icd9pcs:8154"
    assert first(diagnoses=["715.36"])["code"] == "icd9pcs:8154"
    assert first(diagnoses=["715.36"], answer_in="icd10pcs")["code"] == "icd10pcs:0SR[CDTUVW]"
    found = Answers(Model.load(answer_in="icd10pcs")).codes("knee joint replacement", "procedure", 5)["codes"]
    assert found[0]["code"] == "icd10pcs:0SR[CDTUVW]"


def test_stays_are_audited_in_the_version_they_are_coded_in(nhds: TestClient) -> None:
    knee = {"diagnoses": ["M17.11", "I10"], "procedures": ["0SRC0J9", "5A1D70Z"]}
    mixed = {"diagnoses": ["M17.11", "I10"], "procedures": ["81.54", "39.95"]}

    def audited(*stays: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
        told = nhds.post("/api/audit", json={"stays": stays, **more}).json()
        answer_schemas.AuditAnswer.model_validate(told)
        found: list[dict[str, Any]] = told["stays"]
        return found

    ten, nine = audited(knee, mixed)
    dialysis = {one["code"]: one for one in ten["findings"] if one["kind"] == "unsupported"}
    assert list(dialysis) == ["icd10pcs:5A1D"]
    assert {reason["code"] for reason in dialysis["icd10pcs:5A1D"]["because"]} & {
        "icd10cm:M1711",
        "icd10cm:I10",
    }
    assert "icd10pcs:0SR[CDTUVW]" not in {one["code"] for one in ten["findings"]}
    assert [one["code"] for one in nine["findings"] if one["kind"] == "unsupported"] == ["icd9pcs:3995"]
    assert [one["from"] for one in nine["mapping"]] == ["icd10cm:M1711", "icd10cm:I10"]
    (other,) = audited(knee, answer_in="icd9pcs")
    assert (other["findings"], other["audited"]) == ([], False)
    refused = nhds.post("/api/audit", json={"stays": [knee], "map": False})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:dx2px:problem:other-icd-version")


def test_a_system_that_no_model_answers_in_is_refused(client: TestClient) -> None:
    refused = client.post("/api/explain", json={"diagnoses": ["428.0"], "answer_in": "icd10pcs"})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:dx2px:problem:not-with-this-model")


def test_type_ahead_has_both_versions_of_a_diagnosis(nhds: TestClient) -> None:
    found = codes(nhds, "heart failure", limit=9)
    assert [one["system"] for one in found] == ["ICD-9-CM"] * 6 + ["ICD-10-CM"] * 3
    assert [one["other_version"] for one in found] == [False] * 6 + [True] * 3
    assert codes(nhds, "I50.9")[0]["code"] == "icd10cm:I509"


def test_a_coverage_gives_a_set(client: TestClient, model: Model) -> None:
    told = client.post("/api/recommend", json={"diagnoses": ["4280"], "coverage": 0.9}).json()
    assert told == model.recommend(["4280"], coverage=0.9).to_dict()
    assert len(told["recommendations"]) == told["coverage"]["set_size"]
    explained = client.post("/api/explain", json={"diagnoses": ["4280"], "coverage": 0.9}).json()
    answer_schemas.ExplainAnswer.model_validate(explained)
    assert explained == model.explain(["4280"], coverage=0.9).to_dict()
    assert explained["coverage"] == told["coverage"]


def test_a_recommendation_is_an_explanation_in_brief(client: TestClient) -> None:
    asked = {"diagnoses": ["4280", "250.00", "V99"], "top": 3}
    brief, full = (client.post(f"/api/{route}", json=asked).json() for route in ("recommend", "explain"))
    assert brief["diagnoses"] == full["diagnoses"]
    shown = [{name: one[name] for name in brief["recommendations"][0]} for one in full["procedures"]]
    assert brief["recommendations"] == shown


def test_known_diagnoses_with_unknown_procedures_have_an_empty_plan(client: TestClient) -> None:
    told = client.post("/api/explain", json={"diagnoses": ["4280"], "procedures": ["99.99"]}).json()
    answer_schemas.ExplainAnswer.model_validate(told)
    assert [(one["status"], one["significance"]) for one in told["diagnoses"]] == [("known", 1.0)]
    assert [one["status"] for one in told["procedures"]] == ["unknown"]
    assert told["plan"]["mass"] == []


def is_not_with_this_model(answer: Any) -> None:
    assert answer.status_code == 409
    assert answer.json()["type"] == "urn:dx2px:problem:not-with-this-model"


def test_what_a_model_cannot_answer_is_said(
    client: TestClient, uncalibrated: Served, page_folder: Path
) -> None:
    asked = {"diagnoses": ["4280"], "coverage": 0.95}
    is_not_with_this_model(client.post("/api/recommend", json=asked))  # calibrated up to 0.9
    other = TestClient(create_app(uncalibrated, ServiceConfig(page=page_folder)), base_url="http://localhost")
    is_not_with_this_model(other.post("/api/recommend", json=asked | {"coverage": 0.9}))
    is_not_with_this_model(
        other.post("/api/audit", json={"stays": [{"diagnoses": ["4280"], "procedures": []}]})
    )
    told = other.post("/api/recommend", json={"diagnoses": ["4280"]}).json()
    assert {one["probability"] for one in told["recommendations"]} == {None}
