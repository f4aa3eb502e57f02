"""Patient, Encounter and Procedures beside the conditions: what is read, what the card says, and who is told."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from dx2px.answers import Model
from dx2px.codes import title
from dx2px.service.cds import messages
from dx2px.service.cds.known import Known, read_known
from evidence_model import ECHO, HEART, HIP, OPEN, TRANSFUSION

ICD9 = "http://hl7.org/fhir/sid/icd-9-cm"
ROLES = "http://terminology.hl7.org/CodeSystem/diagnosis-role"
TODAY = date(2026, 6, 30)
VIEW = "/cds-services/dx2px-patient-view"


def concept(code: str, system: str = ICD9) -> dict[str, Any]:
    return {"coding": [{"system": system, "code": code}]}


def condition(id: str, code: str, **more: Any) -> dict[str, Any]:  # noqa: A002
    return {"resourceType": "Condition", "id": id, "code": concept(code)} | more


def bundle(*resources: Any) -> dict[str, Any]:
    return {"resourceType": "Bundle", "type": "searchset", "entry": [{"resource": one} for one in resources]}


def diagnosis(reference: str, rank: Any = 1, use: str | None = "billing") -> dict[str, Any]:
    role = {} if use is None else {"use": concept(use, ROLES)}
    return {"condition": {"reference": reference}, "rank": rank} | role


def encounter(*diagnoses: Any, **more: Any) -> dict[str, Any]:
    return {"resourceType": "Encounter", "diagnosis": list(diagnoses)} | more


def procedure(code: str, status: str = "completed") -> dict[str, Any]:
    return {"resourceType": "Procedure", "status": status, "code": concept(code)}


CONDITIONS = bundle(condition("a", "820.21"), condition("b", "428.0"), condition("c", "401.9"))


def known(**sent: Any) -> Known:
    values = {"patient": None, "encounter": None, "procedures": None, "conditions": [CONDITIONS]} | sent
    return read_known(**values, today=TODAY)


@pytest.mark.parametrize(
    ("birth", "start", "age"),
    [
        ("1946-06-30", None, 80),
        ("1946-07-01", None, 79),
        ("1946-07-01", "2026-07-01T08:00:00+02:00", 80),
        ("1946", "2026-06-30", 79),  # taken as born in the middle of the year
        ("1946-06", None, 80),
        ("1946", "2026", 80),
        ("2026-06-30", None, 0),
        ("2026-12-01", "2026", 0),
        ("2027", None, None),
        ("1800", None, None),
        ("1946-13-01", None, None),
        ("1946-02-30", None, None),
        ("about 1946", None, None),
        (1946, None, None),
        (None, None, None),
    ],
)
def test_age_on_the_day_of_the_encounter(birth: Any, start: str | None, age: int | None) -> None:
    patient = {"resourceType": "Patient", "birthDate": birth}
    assert known(patient=patient, encounter=encounter(period={"start": start})).age == age


@pytest.mark.parametrize(
    ("gender", "sex"), [("male", "M"), ("female", "F"), ("other", None), ("unknown", None), (["male"], None)]
)
def test_sex(gender: Any, sex: str | None) -> None:
    assert known(patient={"resourceType": "Patient", "gender": gender}).sex == sex


@pytest.mark.parametrize(
    ("diagnoses", "code"),
    [
        ([diagnosis("Condition/b"), diagnosis("Condition/a", 2)], HEART),
        ([diagnosis("Condition/a", use="DD"), diagnosis("Condition/b")], HEART),  # billing comes first
        ([diagnosis("Condition/a", use="AD"), diagnosis("Condition/b", use="DD")], HEART),
        ([diagnosis("Condition/b", use=None)], HEART),
        ([diagnosis("https://ehr.example/fhir/Condition/b/_history/3")], HEART),
        ([diagnosis("Condition/b", use="AD")], None),
        ([diagnosis("Condition/b", use="CC")], None),
        ([diagnosis("Condition/b", rank=2)], None),
        ([diagnosis("Condition/b", rank=True)], None),
        ([diagnosis("Condition/z")], None),
        ([diagnosis("Procedure/b")], None),
        (["Condition/b"], None),
    ],
)
def test_the_principal_diagnosis_is_the_one_ranked_first(diagnoses: list[Any], code: str | None) -> None:
    assert known(encounter=encounter(*diagnoses)).principal == (() if code is None else (code,))


def test_a_principal_diagnosis_that_is_refuted_is_none() -> None:
    refuted = condition("b", "428.0", verificationStatus=concept("refuted"))
    assert known(encounter=encounter(diagnosis("Condition/b")), conditions=[refuted]).principal == ()


def test_procedures_count_if_they_were_done() -> None:
    sent = bundle(
        procedure("79.35"),
        procedure("88.72", "in-progress"),
        procedure("99.04", "not-done"),
        procedure("79.15", "entered-in-error"),
        procedure("79.35"),
        {"resourceType": "Procedure", "status": ["completed"], "code": concept("99.04")},
        {"resourceType": "ServiceRequest", "status": "completed", "code": concept("99.04")},
        "broken",
    )
    assert known(procedures=sent).procedures == ((OPEN,), (ECHO,))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["resourceType", "entry", "resource", "diagnosis", "rank", "condition", "reference", "use", "coding",
             "code", "status", "period", "start", "birthDate", "gender", "id"]
        ),
        inner | st.sampled_from(["Bundle", "Patient", "Encounter", "Procedure", "Condition", "Condition/a"]),
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(_JSON, _JSON, _JSON)
def test_nothing_that_is_sent_breaks_the_reading(patient: Any, stay: Any, procedures: Any) -> None:
    read_known(patient, stay, procedures, [CONDITIONS, procedures], TODAY)


PREFETCH = {
    "conditions": CONDITIONS,
    "patient": {"resourceType": "Patient", "id": "1288992", "birthDate": "1946", "gender": "female"},
    "encounter": encounter(diagnosis("Condition/a"), period={"start": "2026-03-01T10:00:00Z"}),
    "procedures": bundle(procedure("79.35")),
}


def request(**prefetch: Any) -> dict[str, Any]:
    return {
        "hook": "patient-view",
        "hookInstance": "d1577c69-dfbe-44ad-ba6d-3e05e953b2ea",
        "context": {"patientId": "1288992", "encounterId": "89284"},
        "prefetch": prefetch,
    }


def test_the_card_is_the_answer_with_all_that_is_known(knowing: TestClient, evidence_folder: Path) -> None:
    answer = knowing.post(VIEW, json=request(**PREFETCH)).json()
    messages.Cards.model_validate(answer)
    (card,) = answer["cards"]
    facts: dict[str, Any] = {"principal": HIP, "age": 79, "sex": "F", "coded": [OPEN]}
    best = Model.load(evidence_folder).recommend([HIP, HEART, "401.9"], **facts).recommendations
    labels = [one["label"] for one in card["suggestions"]]
    assert labels == [f"{one.title} ({one.code[8:10]}.{one.code[10:]})" for one in best]
    assert best[0].code == TRANSFUSION
    detail = card["detail"]
    named = f"principal diagnosis {title(HIP).text} (820.21)"
    assert f"Also taken into account: age 75–84, female; {named}; 1 procedure already coded." in detail
    assert "1288992" not in detail
    assert "1946" not in detail


def test_reasons_that_are_not_diagnoses_are_named_but_are_no_reason_codes(knowing: TestClient) -> None:
    (card,) = knowing.post(VIEW, json=request(**PREFETCH)).json()["cards"]
    first = card["detail"].splitlines()[0]
    assert "(79.35, " in first  # the coded procedure, with its code
    reasons = [one["actions"][0]["resource"]["reasonCode"] for one in card["suggestions"]]
    assert {one[0]["coding"][0]["code"] for one in reasons} <= {"820.21", "428.0", "401.9"}
    alone = knowing.post(VIEW, json=request(conditions=CONDITIONS)).json()["cards"][0]["detail"]
    assert "taken into account" not in alone
    assert "background" not in alone


def test_the_link_opens_the_same_stay(knowing: TestClient) -> None:
    (card,) = knowing.post(VIEW, json=request(**PREFETCH)).json()["cards"]
    fragment = card["links"][0]["url"].partition("#")[2].split("&")
    assert fragment == [
        "dx=icd9cm:82021,icd9cm:4280,icd9cm:4019",
        "pdx=icd9cm:82021",
        "age=79",
        "sex=F",
        "yes=icd9pcs:7935",
    ]


def test_a_finished_encounter_is_checked_and_the_strongest_finding_told(knowing: TestClient) -> None:
    """Without the transfusion that goes with the open reduction; of one that goes on, nothing is said."""
    finished = PREFETCH | {"encounter": PREFETCH["encounter"] | {"status": "finished"}}
    answer = knowing.post(VIEW, json=request(**finished)).json()
    messages.Cards.model_validate(answer)
    _, card = answer["cards"]
    assert card["summary"].startswith(f"Check: {title(TRANSFUSION).text} (99.04) is not coded, but ")
    assert len(card["summary"]) < 140
    assert "of such findings are mistakes" in card["detail"]
    assert "suggestions" not in card
    assert len(knowing.post(VIEW, json=request(**PREFETCH)).json()["cards"]) == 1
    nothing = finished | {"procedures": bundle(procedure("79.35"), procedure("99.04"))}
    assert len(knowing.post(VIEW, json=request(**nothing)).json()["cards"]) == 1


@pytest.mark.parametrize("missing", ["patient", "encounter", "procedures"])
@pytest.mark.parametrize("instead", [None, {"resourceType": "OperationOutcome", "issue": []}])
def test_each_of_them_may_be_missing(knowing: TestClient, missing: str, instead: Any) -> None:
    answer = knowing.post(VIEW, json=request(**PREFETCH | {missing: instead}))
    assert answer.status_code == 200
    assert answer.json()["cards"]
    assert answer.json()["extension"]["dx2px-reading"]["complete"] is True


def test_a_model_of_diagnoses_alone_is_not_told_and_does_not_ask(
    client: TestClient, knowing: TestClient
) -> None:
    cards = [
        client.post(VIEW, json=request(**sent)).json()["cards"][0]
        for sent in (PREFETCH, {"conditions": CONDITIONS})
    ]
    assert cards[0]["detail"] == cards[1]["detail"]
    assert cards[0]["links"] == cards[1]["links"]
    asked = [one.get("/cds-services").json()["services"][0]["prefetch"] for one in (client, knowing)]
    assert set(asked[1]) - set(asked[0]) == {"patient", "encounter", "procedures"}
