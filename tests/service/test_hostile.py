"""Whatever is sent, the answer is a problem of 400 and more but below 500, and repeats nothing of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

HOOK = {
    "hook": "patient-view",
    "hookInstance": "d1577c69-dfbe-44ad-ba6d-3e05e953b2ea",
    "context": {"patientId": "1"},
    "prefetch": {"conditions": None},
}
GOOD: dict[str, dict[str, Any]] = {
    "/api/recommend": {"diagnoses": ["428.0"]},
    "/api/explain": {"diagnoses": ["428.0"]},
    "/api/audit": {"stays": [{"diagnoses": ["428.0"], "procedures": []}]},
    "/cds-services/dx2px-patient-view": HOOK,
    "/cds-services/dx2px-order-select": HOOK | {"hook": "order-select"},
    "/cds-services/dx2px-patient-view/feedback": {
        "feedback": [
            {
                "card": "d1577c69-dfbe-44ad-ba6d-3e05e953b2ea",
                "outcome": "overridden",
                "outcomeTimestamp": "2026-01-01T00:00:00Z",
            }
        ]
    },
}
ROUTES = list(GOOD)
RAW = {
    "empty": b"",
    "not json": b"diagnoses=428.0",
    "nan": b'{"diagnoses": ["428.0"], "top": NaN}',
    "infinity": b'{"diagnoses": ["428.0"], "coverage": Infinity}',
    "overflow": b'{"diagnoses": ["428.0"], "coverage": 1e400}',
    "huge integer": b'{"diagnoses": ["428.0"], "top": ' + b"9" * 6000 + b"}",
    "nesting": b"[" * 20_000 + b"]" * 20_000,
    "nesting inside": b'{"diagnoses": ' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    "duplicate": b'{"diagnoses": ["428.0"], "diagnoses": ["427.1"]}',
    "bad utf-8": b'{"diagnoses": ["\xff\xfe"]}',
    "surrogate": b'{"diagnoses": ["\\ud800"]}',
    "nul": b'{"diagnoses": ["428.0\\u0000"]}',
    "utf-16": json.dumps({"diagnoses": ["428.0"]}).encode("utf-16"),
    "array": b'["428.0"]',
    "null": b"null",
    "text": b'"CANARY"',
    "number": b"1",
    "boolean": b"true",
}
SHAPES: dict[str, dict[str, Any]] = {
    "no diagnoses": {},
    "none": {"diagnoses": []},
    "text for a list": {"diagnoses": "CANARY"},
    "object for a list": {"diagnoses": {"CANARY": 1}},
    "boolean for a code": {"diagnoses": [True]},
    "number for a code": {"diagnoses": [428]},
    "null for a code": {"diagnoses": [None]},
    "list for a code": {"diagnoses": [["428.0"]]},
    "empty code": {"diagnoses": [""]},
    "blank code": {"diagnoses": [" \u00a0"]},
    "no letter or digit": {"diagnoses": ["..."]},
    "control": {"diagnoses": ["428\n0"]},
    "long code": {"diagnoses": ["4" * 65]},
    "repeated": {"diagnoses": ["428.0", "428.0"]},
    "thousands": {"diagnoses": [str(number) for number in range(3000)]},
    "top 0": {"diagnoses": ["428.0"], "top": 0},
    "top below 0": {"diagnoses": ["428.0"], "top": -1},
    "top too large": {"diagnoses": ["428.0"], "top": 51},
    "top far too large": {"diagnoses": ["428.0"], "top": 10**30},
    "top a boolean": {"diagnoses": ["428.0"], "top": True},
    "top a fraction": {"diagnoses": ["428.0"], "top": 2.5},
    "top a text": {"diagnoses": ["428.0"], "top": "5"},
    "unknown name": {"diagnoses": ["428.0"], "CANARY": 1},
    "unknown name with a quote": {"diagnoses": ["428.0"], 'CANARY"\n': 1},
}


def is_problem(answer: Any, *statuses: int) -> None:
    assert answer.status_code in statuses, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert told["status"] == answer.status_code
    assert told["type"].startswith("urn:dx2px:problem:")
    assert told["detail"]
    assert told["request_id"] == answer.headers["x-request-id"]
    text = answer.text.replace(told["request_id"], "")  # a random number, which may hold any digits
    assert "CANARY" not in text
    assert "428" not in text


def send(client: TestClient, route: str, body: bytes | Iterator[bytes], **headers: str) -> Any:
    named = {"content-type": "application/json"} | {k.replace("_", "-"): v for k, v in headers.items()}
    return client.post(route, content=body, headers=named)


@pytest.mark.parametrize("route", ROUTES)
def test_the_good_bodies_are_good(client: TestClient, route: str) -> None:
    assert client.post(route, json=GOOD[route]).status_code == 200


@pytest.mark.parametrize("body", RAW.values(), ids=RAW.keys())
@pytest.mark.parametrize("route", ROUTES)
def test_bytes_that_are_no_request(client: TestClient, route: str, body: bytes) -> None:
    is_problem(send(client, route, body), 400, 413, 422)


@pytest.mark.parametrize("body", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("route", ["/api/recommend", "/api/explain"])
def test_json_of_another_shape(client: TestClient, route: str, body: dict[str, Any]) -> None:
    is_problem(client.post(route, json=body), 422)


def test_a_whole_number_may_be_written_with_a_point(client: TestClient) -> None:
    asked = {"diagnoses": ["428.0"], "top": 2.0}
    assert len(client.post("/api/recommend", json=asked).json()["recommendations"]) == 2


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 0.999, True, "0.9", 10**400])
def test_coverage_lies_between_0_and_1(client: TestClient, coverage: Any) -> None:
    is_problem(client.post("/api/recommend", json={"diagnoses": ["428.0"], "coverage": coverage}), 400, 422)


@pytest.mark.parametrize(
    "stays", [[], {}, [1], [{}], [{"diagnoses": ["428.0"]}], [GOOD["/api/audit"]["stays"][0] | {"id": 1}]]
)
def test_stays_of_another_shape(client: TestClient, stays: Any) -> None:
    is_problem(client.post("/api/audit", json={"stays": stays}), 422)


def test_only_so_many_stays_at_a_time(client: TestClient) -> None:
    stay = {"diagnoses": ["428.0"], "procedures": []}
    assert client.post("/api/audit", json={"stays": [stay] * 200}).status_code == 200
    is_problem(client.post("/api/audit", json={"stays": [stay] * 201}), 422)


def test_a_problem_points_to_the_flaw(client: TestClient) -> None:
    told = client.post("/api/recommend", json={"diagnoses": ["V99", 1], "top": 0, "CANARY": 2}).json()
    assert told["errors"] == [
        {"pointer": "/diagnoses/1", "detail": "must be text"},
        {"pointer": "/top", "detail": "must be at least 1"},
        {"pointer": "/(unknown)", "detail": "is not a name that is used here"},
    ]


def test_a_problem_lists_ten_flaws_at_most(client: TestClient) -> None:
    told = client.post("/api/recommend", json={"diagnoses": [False] * 100}).json()
    assert len(told["errors"]) == 10
    assert "of 100" in told["detail"]


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("/api/audit", {str(name): 1 for name in range(2000)}),
        ("/api/audit", {"stays": [{"diagnoses": [1] * 200, "procedures": []}] * 200}),
        ("/cds-services/dx2px-patient-view/feedback", {"feedback": [{}] * 1000}),
    ],
)
def test_thousands_of_flaws_are_not_listed(client: TestClient, route: str, body: dict[str, Any]) -> None:
    told = client.post(route, json=body).json()
    assert told["status"] == 422
    assert "errors" not in told
    assert "1,000" in told["detail"]


def test_of_wrong_suggestions_the_first_is_reported(client: TestClient) -> None:
    """A million may fit in a body."""
    entry = {"card": "", "outcome": "accepted", "outcomeTimestamp": "", "acceptedSuggestions": [1] * 1000}
    told = client.post("/cds-services/dx2px-patient-view/feedback", json={"feedback": [entry]}).json()
    assert told["errors"][2:] == [
        {"pointer": "/feedback/0/acceptedSuggestions/0", "detail": "must be an object"}
    ]


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application/json; charset=latin-1",
        "application/jsonx",
        "application/problem+json",
    ],
)
@pytest.mark.parametrize("route", ROUTES)
def test_only_json_is_taken(client: TestClient, route: str, content_type: str) -> None:
    body = json.dumps(GOOD[route]).encode()
    is_problem(send(client, route, body, content_type=content_type), 415)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "x-CANARY", "identity, gzip"])
@pytest.mark.parametrize("route", ROUTES)
def test_encoded_bodies_are_not_decoded(client: TestClient, route: str, coding: str) -> None:
    body = json.dumps(GOOD[route]).encode()
    is_problem(send(client, route, body, content_encoding=coding), 415)
    is_problem(send(client, route, body, transfer_encoding="gzip, chunked"), 400)


def test_json_may_say_that_it_is_utf_8(client: TestClient) -> None:
    body = json.dumps(GOOD["/api/recommend"]).encode()
    for content_type in ("application/json;charset=utf-8", 'Application/JSON; charset="UTF-8"'):
        assert send(client, "/api/recommend", body, content_type=content_type).status_code == 200


@pytest.mark.parametrize("route", ROUTES)
def test_bodies_have_a_limit_with_and_without_a_length(client: TestClient, route: str) -> None:
    limit = 64 * 1024 if route in ("/api/recommend", "/api/explain") else 1024 * 1024
    body = json.dumps(GOOD[route]).encode()
    assert send(client, route, body + b" " * (limit - len(body))).status_code == 200
    is_problem(send(client, route, body + b" " * (limit - len(body) + 1)), 413)
    is_problem(send(client, route, iter([body, *[b" " * 60_000] * 20])), 413)


@pytest.mark.parametrize(
    "address",
    [
        "/api/codes",
        "/api/codes?q=",
        "/api/codes?q=CANARY%00",
        "/api/codes?q=CANARY%0a",
        f"/api/codes?q={'CANARY' * 20}",
        "/api/codes?q=a&limit=0",
        "/api/codes?q=a&limit=CANARY",
        "/api/codes?q=a&limit=1e9",
        "/api/codes?q=a&limit=true",
        "/api/codes?q=a&kind=CANARY",
        "/api/neighbors/CANARY%00",
        "/api/neighbors/...",
        f"/api/neighbors/{'CANARY' * 20}",
        "/api/neighbors/CANARY",
        "/api/neighbors/4280?top=0",
        "/api/neighbors/4280?top=NaN",
        "/api/CANARY",
        "/CANARY",
        "/cds-services/CANARY",
        "/page/CANARY.js",
    ],
)
def test_addresses_that_lead_nowhere(client: TestClient, address: str) -> None:
    is_problem(client.get(address), 404, 422)


@pytest.mark.parametrize("q", ["%ff", "%ed%a0%80", "é", "😀", "' OR 1=1 --", "<script>", "%", "(", "\\"])
def test_odd_searches_find_nothing_or_something(client: TestClient, q: str) -> None:
    assert client.get(f"/api/codes?q={q}" if q.startswith("%f") else f"/api/codes?q=a{q}").status_code == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("route", ["/api/recommend", "/api/codes", "/livez", "/"])
def test_other_methods_are_refused_with_those_that_fit(client: TestClient, route: str, method: str) -> None:
    answer = client.request(method, route)
    is_problem(answer, 405)
    assert answer.headers["allow"]
