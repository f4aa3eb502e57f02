"""Canaries go through every route, in every part of a request, and turn up in no log, no metric and no error."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from dx2px.service import ServiceConfig, create_app

CANARY = "CANARY7731"
CODE = "V8777"  # has the shape of a code
TRACES = (CANARY, CODE, "V87.77", "7731", "428.0", "4280", "77.318842", "1931-07-03", "1999-01-02")
HOOK = {
    "hook": "patient-view",
    "hookInstance": "d1577c69-dfbe-44ad-ba6d-3e05e953b2ea",
    "context": {"patientId": CANARY, "userId": CANARY},
    "fhirServer": f"https://{CANARY}.example",
    "prefetch": {"conditions": {"resourceType": "Bundle", "entry": [CANARY]}},
}
AGE = 77.318842  # of a patient who turns up nowhere
CONDITION = {"coding": [{"system": "http://hl7.org/fhir/sid/icd-9-cm", "code": "428.0"}]}
KNOWN = {
    "conditions": {"resourceType": "Condition", "id": CANARY, "code": CONDITION},
    "patient": {"resourceType": "Patient", "id": CANARY, "birthDate": "1931-07-03", "gender": CANARY},
    "encounter": {
        "resourceType": "Encounter",
        "period": {"start": "1999-01-02"},
        "diagnosis": [{"rank": 1, "condition": {"reference": f"Condition/{CANARY}"}}],
    },
    "procedures": {"resourceType": "Procedure", "status": "completed", "code": {"coding": [CANARY, CODE]}},
}
BODIES: list[Any] = [
    {"diagnoses": [CODE, "428.0", CANARY]},
    {"diagnoses": [CANARY]},
    {"diagnoses": [CODE], "procedures": [CANARY], "top": CANARY},
    {CANARY: CODE},
    {"diagnoses": {CANARY: CODE}},
    {"stays": [{"id": CANARY, "diagnoses": [CODE, "428.0"], "procedures": [CODE]}]},
    {"stays": [{"id": [CANARY], "diagnoses": CODE}]},
    HOOK,
    HOOK | {"hookInstance": CANARY},
    HOOK | {"hook": CANARY},
    HOOK | {"hook": "order-select"},
    {
        "feedback": [
            {"card": CANARY, "outcome": "accepted", "outcomeTimestamp": CANARY, "userComment": CANARY}
        ]
    },
    {"feedback": [{"card": CANARY, "outcome": CANARY}]},
    {
        "feedback": [
            {
                "card": "d1577c69-dfbe-44ad-ba6d-3e05e953b2ea",
                "outcome": "overridden",
                "outcomeTimestamp": "2026-01-01T00:00:00Z",
                "overrideReason": {"reason": {"code": CODE, "system": CANARY}, "userComment": CANARY},
            }
        ]
    },
    HOOK
    | {"prefetch": {"conditions": {"resourceType": "OperationOutcome", "issue": [{"diagnostics": CANARY}]}}},
    CANARY,
    *(
        {"diagnoses": ["428.0"], name: value}
        for name in ("principal", "age", "sex", "admission", "coded")
        for value in (CANARY, CODE, [CANARY], [CODE], {CANARY: CODE}, AGE)
    ),
    {"diagnoses": ["428.0"], "principal": CODE, "age": AGE, "sex": "F", "coded": [CODE, CANARY]},
    {
        "stays": [
            {"diagnoses": ["428.0"], "procedures": [], "principal": CODE, "age": AGE, "admission": CANARY}
        ]
    },
    HOOK | {"prefetch": KNOWN},
    HOOK | {"hook": "order-select", "prefetch": KNOWN},
    HOOK | {"prefetch": {**KNOWN, "patient": CANARY, "encounter": [CANARY]}},
]
RAW = [
    f'{{"{CANARY}": NaN}}'.encode(),
    CANARY.encode(),
    b"\xff" + CANARY.encode(),
    b"[" * 9000 + CODE.encode(),
]


def routes_of(client: TestClient) -> list[tuple[str, str]]:
    """Every operation of the OpenAPI document, and the page."""
    paths = client.get("/openapi.json").json()["paths"]
    listed = [(path, method.upper()) for path, told in paths.items() for method in told]
    return [*listed, ("/", "GET"), ("/page/{name}", "GET")]


def send_all(client: TestClient, headers: dict[str, str]) -> list[Any]:
    answers = []
    for path, method in routes_of(client):
        for word in (CANARY, CODE, "428.0"):
            address = path.replace("{code}", word).replace("{name}", word)
            if method == "GET":
                answers.append(client.get(f"{address}?q={word}&{word}={word}&limit={word}", headers=headers))
                answers.append(client.get(f"{address}?q={word}", headers=headers))
        if method == "POST":
            whole = [json.dumps(body).encode() for body in BODIES] + RAW
            answers += [client.post(path, content=body, headers=headers) for body in whole]
            answers.append(client.post(path, content=whole[0], headers=headers | {"content-type": CANARY}))
            answers.append(client.post(f"{path}/{CANARY}", content=whole[0], headers=headers))
        answers.append(client.request(CANARY, path, headers=headers))
    answers.append(client.get("/livez", headers=headers | {"host": f"{CANARY}.example"}))
    answers.append(client.get("/api/model", headers=headers | {"host": f"{CANARY}.example"}))
    answers.append(client.get("/api/model/", headers=headers | {"host": f"localhost:1@{CANARY}.example"}))
    answers.append(client.post("/api/audit", headers=headers | {"content-encoding": CANARY}))
    return answers


@pytest.mark.parametrize("model", ["served", "knowing_served"])
@pytest.mark.parametrize("token", [None, "a-long-enough-token"])
def test_no_canary_survives(
    request: pytest.FixtureRequest,
    page_folder: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    model: str,
    token: str | None,
) -> None:
    # The caller's own library logs addresses; what the service's process writes is all else.
    for name in ("httpx", "httpx2"):
        logging.getLogger(name).setLevel(logging.WARNING)
    caplog.set_level(logging.DEBUG)
    app = create_app(request.getfixturevalue(model), ServiceConfig(page=page_folder, token=token))
    client = TestClient(app, base_url="http://localhost:8000", raise_server_exceptions=False)
    headers = {
        "content-type": "application/json",
        "x-request-id": CANARY,
        "user-agent": CANARY,
        "referer": f"https://{CANARY}.example/{CODE}",
        "cookie": f"patient={CANARY}",
        "authorization": f"Bearer {CANARY}",
    }
    answers = send_all(client, headers)
    if token is not None:
        answers += send_all(client, headers | {"authorization": f"Bearer {token}"})
    assert not any(answer.status_code >= 500 for answer in answers)
    metrics = client.get("/metrics", headers={"authorization": f"Bearer {token}"}).text
    written = capfd.readouterr()
    refused = "".join(
        (answer.text + str(answer.headers)).replace(answer.headers["x-request-id"], "")
        for answer in answers
        if answer.status_code >= 400
    )
    assert len([answer for answer in answers if answer.status_code >= 400]) > 50
    for trace in TRACES:
        assert trace not in refused + written.out
    lines = "\n".join(record.getMessage() for record in caplog.records)
    assert "POST /api/recommend 200" in lines
    # Times, ids and counts hold digits by chance; they cannot hold letters or dots.
    for trace in (CANARY, CODE, "V87.77", "77.318842", "1931-07-03", "1999-01-02"):
        assert trace not in lines + metrics + written.err + caplog.text


def test_a_line_holds_method_route_status_time_and_id(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "dx2px.service.access")
    answer = client.get("/api/neighbors/428.0?top=3")
    line = next(record.getMessage() for record in caplog.records if record.name == "dx2px.service.access")
    method, route, status, milliseconds, request_id = line.split()
    assert (method, route, status) == ("GET", "/api/neighbors/{code}", "200")
    assert float(milliseconds) >= 0
    assert request_id == answer.headers["x-request-id"]
