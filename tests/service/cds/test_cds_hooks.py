"""CDS Hooks 2.0 as its text demands: discovery, prefetch, cards, feedback; and no call to the record system."""

from __future__ import annotations

import gc
import re
import socket
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from starlette.testclient import TestClient

from dx2px.answers import Model
from dx2px.codes import dotted, is_listed
from dx2px.scoring.folder import write_folder
from dx2px.service import create_app
from dx2px.service.answers import Answers
from dx2px.service.cds import messages
from dx2px.service.cds.cards import cut
from dx2px.service.served import Served
from dx2px.service.turns import Turns
from synthetic_models import random_files

VIEW, SELECT = "/cds-services/dx2px-patient-view", "/cds-services/dx2px-order-select"
ICD9 = "http://hl7.org/fhir/sid/icd-9-cm"


def bundle(*codes: str) -> dict[str, Any]:
    entries = [
        {"resource": {"resourceType": "Condition", "code": {"coding": [{"system": ICD9, "code": code}]}}}
        for code in codes
    ]
    return {"resourceType": "Bundle", "type": "searchset", "entry": entries}


def request(hook: str = "patient-view", **more: Any) -> dict[str, Any]:
    context = {"userId": "Practitioner/1", "patientId": "1288992", "encounterId": "89284"}
    return {
        "hook": hook,
        "hookInstance": "d1577c69-dfbe-44ad-ba6d-3e05e953b2ea",
        "fhirServer": "http://127.0.0.1:9/fhir",
        "fhirAuthorization": {"access_token": "x", "token_type": "Bearer", "scope": "*", "subject": "y"},
        "context": context,
        "prefetch": {"conditions": bundle("428.0", "250.00")},
    } | more


def test_discovery_lists_services_that_answer(client: TestClient) -> None:
    told = client.get("/cds-services").json()
    messages.Services.model_validate(told)
    assert {service["hook"] for service in told["services"]} == {"patient-view", "order-select"}
    for service in told["services"]:
        assert service["description"]
        tokens = re.findall(r"{{(.*?)}}", " ".join(service["prefetch"].values()))
        assert set(tokens) <= {"context.patientId", "context.encounterId"}
        answer = client.post(f"/cds-services/{service['id']}", json=request(service["hook"]))
        assert answer.status_code == 200


def test_a_request_is_not_kept_while_it_waits(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty-four of them, read and waiting for their turn, would take ten times their size in memory."""
    kept, take = list[int](), Turns.take

    async def watched(self: Turns, *args: Any) -> None:
        kept.append(sum(type(one) is messages.PatientViewRequest for one in gc.get_objects()))
        await take(self, *args)

    monkeypatch.setattr(Turns, "take", watched)
    assert client.post(VIEW, json=request()).status_code == 200
    assert kept == [0, 0]


def test_a_card_is_what_the_standard_says(client: TestClient) -> None:
    answer = client.post(VIEW, json=request())
    messages.Cards.model_validate(answer.json())
    (card,) = answer.json()["cards"]
    assert 0 < len(card["summary"]) < 140
    assert card["indicator"] == "info"
    assert card["source"]["label"]
    assert card["selectionBehavior"] == "any"
    assert UUID(card["uuid"])
    assert "not medical advice" in card["detail"]
    assert "Congestive heart failure" in card["detail"]
    assert card["links"][0]["url"] == "http://127.0.0.1:8000/#dx=icd9cm:4280,icd9cm:25000"
    ids = [suggestion["uuid"] for suggestion in card["suggestions"]]
    assert len(set(ids)) == len(ids) == 4  # as many procedures as the model knows


def test_suggestions_are_drafts_of_the_models_procedures(client: TestClient) -> None:
    (card,) = client.post(VIEW, json=request()).json()["cards"]
    best = client.post("/api/recommend", json={"diagnoses": ["428.0", "250.00"]}).json()["recommendations"]
    drafts = [suggestion["actions"][0]["resource"] for suggestion in card["suggestions"]]
    assert [draft["code"]["coding"][0]["code"].replace(".", "") for draft in drafts] == [
        one["code"].partition(":")[2] for one in best
    ]
    first = drafts[0]
    assert first["resourceType"] == "ServiceRequest"
    assert (first["status"], first["intent"]) == ("draft", "proposal")
    assert first["subject"] == {"reference": "Patient/1288992"}
    assert first["encounter"] == {"reference": "Encounter/89284"}
    assert first["code"]["coding"][0]["system"] == ICD9
    assert first["reasonCode"][0]["coding"][0]["code"] == dotted(best[0]["because"][0]["code"])


def test_patient_and_encounter_together_count_each_diagnosis_once(client: TestClient) -> None:
    prefetch = {"conditions": bundle("428.0", "428.0"), "encounterConditions": bundle("428.0")}
    both = client.post(VIEW, json=request(prefetch=prefetch)).json()
    assert "this diagnosis" in both["cards"][0]["summary"]
    assert both["extension"]["dx2px-reading"]["used"] == 3


def test_what_cannot_be_read_is_reported_and_the_rest_used(client: TestClient) -> None:
    mixed = bundle("428.0", "not a code", "V91")
    mixed["entry"] += ["broken", {"resource": {"resourceType": "Condition", "code": {"coding": []}}}]
    answer = client.post(VIEW, json=request(prefetch={"conditions": mixed})).json()
    assert answer["extension"]["dx2px-reading"] == {
        "used": 1,
        "unknown": 1,
        "unreadable": 2,
        "without_icd": 1,
        "not_current": 0,
        "beyond_limit": 0,
        "other": 0,
        "not_sent": 0,
        "complete": True,
    }
    detail = answer["cards"][0]["detail"]
    left = "without an ICD code: 1; unreadable: 2; not known to the model: 1."
    assert f"Conditions used: 1 of 5; {left}" in detail
    assert 'dx2px_fhir_entries_total{outcome="unreadable"} 2.0' in client.get("/metrics").text


def test_codes_beyond_the_first_five_hundred_are_counted_and_left_out(client: TestClient) -> None:
    many = ["428.0", *(f"{number:03d}.{digit}" for number in range(1, 56) for digit in range(10)), "428.0"]
    answer = client.post(VIEW, json=request(prefetch={"conditions": bundle(*many)})).json()
    read = answer["extension"]["dx2px-reading"]
    assert (read["used"], read["beyond_limit"]) == (501, 51)
    assert "beyond the first 500 codes: 51" in answer["cards"][0]["detail"]


def test_a_page_of_results_is_not_told_as_all_of_them(client: TestClient) -> None:
    link = [{"relation": "next", "url": "https://ehr.example/fhir?page=2"}]
    for more, text in (
        ({"link": link, "total": 250}, "Conditions used: 1 of 250; on pages that were not sent: 249."),
        ({"link": link}, "Conditions used: 1 of more than 1; there are further pages, which were not sent."),
    ):
        answer = client.post(VIEW, json=request(prefetch={"conditions": bundle("428.0") | more})).json()
        assert text in answer["cards"][0]["detail"]
        assert answer["extension"]["dx2px-reading"]["complete"] is False
    assert 'dx2px_fhir_entries_total{outcome="not_sent"} 249.0' in client.get("/metrics").text


@pytest.mark.parametrize(
    ("codes", "used", "unknown"),
    [
        ((("icd-9-cm", "428.0"),), 1, 0),
        ((("icd-9-cm", "V91"),), 0, 1),
        ((("icd-10-cm", "I50.9"),), 1, 0),  # translated into 428.0 or its neighbours
        ((("icd-10-cm", "Z99.89"), ("icd-9-cm", "428.0"), ("icd-9-cm", "428.0")), 2, 1),
        ((("icd-9-cm", "428.1"),), 1, 0),  # similar codes stand in for it
    ],
)
def test_used_is_what_the_model_knew(tmp_path: Path, codes: Any, used: int, unknown: int) -> None:
    """By a model that knows ICD-9 alone, so that codes of ICD-10 are translated."""
    write_folder(tmp_path / "model", random_files("e+pooling", 80, 10, dim=4, heads=1))
    client = TestClient(create_app(Served.load(tmp_path / "model")), base_url="http://localhost")
    found = bundle(*(code for _, code in codes))
    for entry, (system, _) in zip(found["entry"], codes, strict=True):
        entry["resource"]["code"]["coding"][0]["system"] = f"http://hl7.org/fhir/sid/{system}"
    answer = client.post(VIEW, json=request(prefetch={"conditions": found})).json()
    read = answer["extension"]["dx2px-reading"]
    assert (read["used"], read["unknown"]) == (used, unknown)
    assert bool(answer["cards"]) == bool(used)


OUTCOME = {"resourceType": "OperationOutcome", "issue": [{"severity": "error", "code": "forbidden"}]}


def test_a_failed_prefetch_beside_a_good_one_is_reported(client: TestClient) -> None:
    prefetch = {"conditions": OUTCOME, "encounterConditions": bundle("428.0")}
    answer = client.post(VIEW, json=request(prefetch=prefetch)).json()
    read = answer["extension"]["dx2px-reading"]
    assert (read["used"], read["other"], read["complete"]) == (1, 0, False)
    assert "Conditions used: 1 of 1; a query of the record system failed." in answer["cards"][0]["detail"]
    assert client.post(VIEW, json=request(prefetch={"conditions": OUTCOME})).status_code == 412
    both = {"conditions": OUTCOME, "encounterConditions": None}
    assert client.post(VIEW, json=request(prefetch=both)).json()["cards"] == []


@pytest.mark.parametrize(
    "prefetch",
    [
        None,
        {},
        {"patient": {"resourceType": "Patient"}},
        {
            "conditions": {"resourceType": "OperationOutcome"},
            "encounterConditions": {"resourceType": "OperationOutcome"},
        },
    ],
)
@pytest.mark.parametrize(("route", "hook"), [(VIEW, "patient-view"), (SELECT, "order-select")])
def test_without_prefetch_there_is_nothing_to_work_on(
    client: TestClient, route: str, hook: str, prefetch: Any
) -> None:
    answer = client.post(route, json=request(hook, prefetch=prefetch))
    assert answer.status_code == 412
    assert answer.headers["content-type"] == "application/problem+json"
    without = request(hook)
    del without["prefetch"]
    assert client.post(route, json=without).status_code == 412


@pytest.mark.parametrize("found", [None, bundle(), bundle("V91")])
def test_a_patient_without_usable_diagnoses_gets_no_card(client: TestClient, found: Any) -> None:
    answer = client.post(VIEW, json=request(prefetch={"conditions": found}))
    assert (answer.status_code, answer.json()["cards"]) == (200, [])


def test_orders_already_drafted_are_not_suggested(client: TestClient) -> None:
    context = request()["context"]
    coded = {"coding": [{"system": ICD9, "code": "37.22"}]}
    drafts = {
        "resourceType": "Bundle",
        "entry": [{"resource": {"resourceType": "ServiceRequest", "code": coded}}],
    }
    asked = request("order-select", context=context | {"selections": [], "draftOrders": drafts})
    before = client.post(SELECT, json=request("order-select")).json()["cards"][0]
    after = client.post(SELECT, json=asked).json()["cards"][0]
    shown = [[one["label"] for one in card["suggestions"]] for card in (before, after)]
    assert any("37.22" in label for label in shown[0])
    assert shown[1] == [label for label in shown[0] if "37.22" not in label]


def test_thousands_of_drafts_do_not_make_the_model_work_longer(
    client: TestClient, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    recommend = served.answers.recommend

    def noted(diagnoses: Any, top: int, **options: Any) -> Any:
        asked.append(top)
        return recommend(diagnoses, top, **options)

    monkeypatch.setattr(served.answers, "recommend", noted)
    for number in (0, 3, 5000):
        drafts = bundle(*(f"{place // 100:02d}.{place % 100:02d}" for place in range(number)))
        for entry in drafts["entry"]:
            entry["resource"]["resourceType"] = "ServiceRequest"
        context = {"patientId": "1", "draftOrders": drafts}
        assert client.post(SELECT, json=request("order-select", context=context)).status_code == 200
    assert asked == [5, 8, 50]


@pytest.mark.parametrize(
    "change",
    [
        {"hook": "order-select"},
        {"hook": None},
        {"hookInstance": "1"},
        {"hookInstance": None},
        {"context": {}},
        {"context": {"patientId": "../../etc"}},
        {"context": {"patientId": 1}},
        {"prefetch": []},
        {"prefetch": {"conditions": "Bundle"}},
        {"prefetch": {"conditions": [1]}},
    ],
)
def test_requests_that_break_the_standard(client: TestClient, change: dict[str, Any]) -> None:
    assert client.post(VIEW, json=request(**change)).status_code == 422


def test_nothing_is_fetched(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **options: Any) -> None:
        raise AssertionError("the service opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert client.post(VIEW, json=request()).status_code == 200
    assert client.post(VIEW, json=request(prefetch={})).status_code == 412


def test_summaries_of_long_titles_stay_short() -> None:
    assert [len(cut("x" * length, 139)) for length in (1, 139, 140, 999)] == [1, 139, 139, 139]


def test_five_hundred_conditions_are_read(client: TestClient) -> None:
    many = bundle(
        *(f"{number:03d}.{digit}" for number in range(1, 51) for digit in range(9)), "428.0", *["V91"] * 49
    )
    answer = client.post(VIEW, json=request(prefetch={"conditions": many}))
    read = answer.json()["extension"]["dx2px-reading"]
    assert (read["used"], read["unknown"]) == (451, 49)
    assert answer.json()["cards"]


ACCEPTED = {
    "card": "4e0a3a1e-3283-4575-ab82-028d55fe2719",
    "outcome": "accepted",
    "outcomeTimestamp": "2026-12-11T02:12:13Z",
    "acceptedSuggestions": [{"id": "e56e1945-20b3-4393-8503-a1a20fd73152"}],
}
OVERRIDDEN = {
    "card": "9368d37b-283f-44a0-93ea-547cebab93ed",
    "outcome": "overridden",
    "outcomeTimestamp": "2026-12-11T02:12:13.25+00:00",
}
REASON = {"code": "d7ecf885", "system": "https://ehr.example/reasons", "display": "Already done"}


def test_feedback_is_counted(client: TestClient) -> None:
    answer = client.post(f"{VIEW}/feedback", json={"feedback": [ACCEPTED, OVERRIDDEN]})
    assert (answer.status_code, answer.content) == (200, b"")
    text = client.get("/metrics").text
    for outcome in ("accepted", "overridden"):
        assert f'dx2px_cds_feedback_total{{outcome="{outcome}",service="dx2px-patient-view"}} 1.0' in text
    assert client.post("/cds-services/none/feedback", json={"feedback": [ACCEPTED]}).status_code == 404


@pytest.mark.parametrize(
    "reason", [{"userComment": ""}, {"reason": REASON}, {"reason": REASON, "userComment": "x"}]
)
def test_an_override_may_have_a_reason(client: TestClient, reason: dict[str, Any]) -> None:
    sent = {"feedback": [OVERRIDDEN | {"overrideReason": reason}]}
    assert client.post(f"{SELECT}/feedback", json=sent).status_code == 200


@pytest.mark.parametrize(
    "entry",
    [
        ACCEPTED | {"outcome": "?"},
        ACCEPTED | {"outcome": "ignored"},
        ACCEPTED | {"card": "1"},
        ACCEPTED | {"card": None},
        {name: value for name, value in ACCEPTED.items() if name != "acceptedSuggestions"},
        ACCEPTED | {"acceptedSuggestions": None},
        ACCEPTED | {"acceptedSuggestions": []},
        ACCEPTED | {"acceptedSuggestions": [{}]},
        ACCEPTED | {"acceptedSuggestions": [{"id": "1"}]},
        ACCEPTED | {"acceptedSuggestions": ["e56e1945-20b3-4393-8503-a1a20fd73152"]},
        ACCEPTED | {"acceptedSuggestions": {"id": "e56e1945-20b3-4393-8503-a1a20fd73152"}},
        OVERRIDDEN | {"overrideReason": {}},
        OVERRIDDEN | {"overrideReason": {"reason": None}},
        OVERRIDDEN | {"overrideReason": {"reason": {"code": "1"}}},
        OVERRIDDEN | {"overrideReason": {"userComment": 1}},
        OVERRIDDEN | {"overrideReason": "no"},
        *(
            OVERRIDDEN | {"outcomeTimestamp": wrong}
            for wrong in (
                "",
                "now",
                "2026-12-11",
                "2026-12-11T02:12:13",
                "2026-12-11T02:12:13+02:00",
                1765419133,
                "2026-13-11T02:12:13Z",
                "2026-12-11T24:12:13Z",
                "2026-12-11T02:12:13Z\n",
                None,
            )
        ),
    ],
)
def test_feedback_that_breaks_the_standard_is_refused_whole(
    client: TestClient, entry: dict[str, Any]
) -> None:
    refused = client.post(f"{VIEW}/feedback", json={"feedback": [ACCEPTED, entry]})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"].startswith("/feedback/1")
    assert "dx2px_cds_feedback_total{" not in client.get("/metrics").text


def test_a_family_of_codes_is_text_and_a_drafted_code_of_it_is_left_out() -> None:
    """Only valid codings: ICD-10-PCS has no code 0SR[CDTUVW]."""
    app = create_app(Served(Answers(Model.load(answer_in="icd10pcs"))))
    opened = TestClient(app, base_url="http://localhost:8000")
    code = {"coding": [{"system": "http://hl7.org/fhir/sid/icd-10-cm", "code": "M17.11"}]}
    sent = {"resourceType": "Bundle", "entry": [{"resource": {"resourceType": "Condition", "code": code}}]}
    (card,) = opened.post(VIEW, json=request(prefetch={"conditions": sent})).json()["cards"]
    drafts = [one["actions"][0]["resource"] for one in card["suggestions"]]
    assert drafts[0]["code"] == {
        "text": "Replacement of knee joint, right (ICD-10-PCS 0SR[CTV], complete by body part, device, qualifier)"
    }
    codings = [coding for one in drafts for coding in one["code"].get("coding", ())]
    assert codings
    assert all(is_listed(f"icd10pcs:{coding['code']}") for coding in codings)
    assert "#dx=icd10cm:M1711" in card["links"][0]["url"]
    order = {"system": "http://www.cms.gov/Medicare/Coding/ICD10", "code": "0SRC0J9"}
    drafted = {"resourceType": "ServiceRequest", "code": {"coding": [order]}}
    context = {
        "userId": "Practitioner/1",
        "patientId": "1",
        "selections": ["ServiceRequest/1"],
        "draftOrders": {"resourceType": "Bundle", "entry": [{"resource": drafted}]},
    }
    asked = request("order-select", prefetch={"conditions": sent}, context=context)
    (card,) = opened.post(SELECT, json=asked).json()["cards"]
    assert "knee joint" not in card["summary"]
