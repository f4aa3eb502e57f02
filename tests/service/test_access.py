"""Who may ask, under which name, and what a browser is told: tokens, hosts, origins, headers, the page's files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from dx2px.errors import InputError
from dx2px.service.config import ServiceConfig, read_token
from dx2px.service.observation import POLICY

Connect = Callable[..., TestClient]
TOKEN = "a-long-enough-token"
GUARDED = [
    ("GET", "/api/codes?q=a"),
    ("GET", "/api/model"),
    ("GET", "/api/neighbors/4280"),
    ("GET", "/metrics"),
    ("GET", "/cds-services"),
    ("POST", "/api/recommend"),
    ("POST", "/api/explain"),
    ("POST", "/api/audit"),
    ("POST", "/cds-services/dx2px-patient-view"),
    ("POST", "/cds-services/dx2px-patient-view/feedback"),
]


@pytest.mark.parametrize(("method", "address"), GUARDED)
@pytest.mark.parametrize(
    "shown", [None, "", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", "Bearer é"]
)
def test_a_token_is_asked_for(connect: Connect, method: str, address: str, shown: str | None) -> None:
    headers = {} if shown is None else {b"authorization": shown.encode()}
    answer = connect(token=TOKEN).request(method, address, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.headers["content-type"] == "application/problem+json"
    assert TOKEN not in answer.text


def test_the_token_opens(connect: Connect) -> None:
    client = connect(token=TOKEN)
    for scheme in ("Bearer", "bearer"):
        headers = {"authorization": f"{scheme} {TOKEN}"}
        assert client.get("/api/model", headers=headers).status_code == 200
    assert client.post("/api/recommend", json={"diagnoses": ["4280"]}, headers=headers).status_code == 200


@pytest.mark.parametrize("address", ["/", "/page/style.css", "/livez", "/readyz", "/openapi.json"])
def test_page_and_health_are_open_to_all(connect: Connect, address: str) -> None:
    assert connect(token=TOKEN).get(address).status_code == 200


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8000", "127.0.0.1:1", "[::1]:8000", "[::1]", "LOCALHOST"]
)
def test_names_of_the_loopback_are_trusted(client: TestClient, host: str) -> None:
    assert client.get("/api/model", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "",
        "localhost@evil",
        "localhost:1@evil.example",
        "localhost:/cds-services/dx2px-order-select?",
        "localhost:",
        "localhost:8000/",
        "localhost:8000:8000",
        "localhost:123456",
        "localhost:+80",
        "localhost:8 0",
        "localhost:\xb2",
        "localhost, evil.example",
        "localhost.",
        ":8000",
        "[::1",
        "[::1]]:80",
        "0.0.0.0:8000",
    ],
)
@pytest.mark.parametrize("address", ["/", "/api/model", "/cds-services", "/metrics"])
def test_other_names_are_not(client: TestClient, host: str, address: str) -> None:
    answer = client.get(address, headers={b"host": host.encode("latin-1")})
    assert answer.status_code == 400
    assert answer.json()["type"] == "urn:dx2px:problem:untrusted-host"


@pytest.mark.parametrize("address", ["/api/audit/", "/api/model/", "/cds-services/", "/livez/", "/page"])
@pytest.mark.parametrize("host", ["localhost", "localhost:1@evil.example"])
def test_nothing_is_redirected(connect: Connect, address: str, host: str) -> None:
    """Behind a proxy that handles TLS, a redirect would lead to http, where the body would be sent in clear."""
    client = connect(base_url="https://dx2px.example")
    for method in ("GET", "POST", "HEAD"):
        answer = client.request(method, address, headers={"host": host}, follow_redirects=False)
        assert answer.status_code in (400, 404)
        assert "location" not in answer.headers


def test_further_names_can_be_trusted(connect: Connect) -> None:
    client = connect(trusted_hosts=("dx2px.hospital.example",))
    assert client.get("/api/model", headers={"host": "DX2PX.hospital.example"}).status_code == 200
    assert client.get("/livez", headers={"host": "10.0.0.1:8000"}).status_code == 200  # a probe knows no name


def test_a_host_that_stands_for_all_is_no_name(connect: Connect) -> None:
    for host in ("", "0.0.0.0", "::"):
        client = connect(host=host, token=TOKEN, trusted_hosts=("a.example",))
        for name in ("", ":8000", "0.0.0.0", "[::]"):
            assert client.get("/", headers={"host": name}).status_code == 400


@pytest.mark.parametrize(
    "address", ["/livez", "/readyz", "/metrics", "/api/model", "/cds-services", "/openapi.json"]
)
def test_head_is_answered_like_get(client: TestClient, address: str) -> None:
    head, get = client.head(address), client.get(address)
    assert (head.status_code, get.status_code) == (200, 200)
    assert head.headers["content-type"] == get.headers["content-type"]
    refused = client.put(address)
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")


def test_a_page_elsewhere_may_reach_a_private_network_if_its_origin_is_allowed(connect: Connect) -> None:
    preflight = {
        "origin": "https://a.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type",
        "access-control-request-private-network": "true",
    }
    client = connect(allowed_origins=("https://a.example",))
    allowed = client.options("/cds-services/dx2px-patient-view", headers=preflight)
    assert allowed.status_code == 200
    assert allowed.headers["access-control-allow-private-network"] == "true"
    other = client.options("/cds-services", headers=preflight | {"origin": "https://b.example"})
    assert other.status_code == 400
    assert "access-control-allow-origin" not in other.headers
    assert "access-control-allow-private-network" not in connect().options("/", headers=preflight).headers


def test_other_sites_are_told_nothing_unless_asked_for(connect: Connect) -> None:
    preflight = {"origin": "https://a.example", "access-control-request-method": "POST"}
    assert "access-control-allow-origin" not in connect().options("/api/recommend", headers=preflight).headers
    client = connect(allowed_origins=("https://a.example",), token=TOKEN)
    allowed = client.options("/api/recommend", headers=preflight)
    assert allowed.status_code == 200
    assert allowed.headers["access-control-allow-origin"] == "https://a.example"
    refused = client.get("/api/model", headers={"origin": "https://a.example"})
    assert refused.status_code == 401
    assert refused.headers["access-control-allow-origin"] == "https://a.example"
    other = client.options("/api/recommend", headers=preflight | {"origin": "https://b.example"})
    assert "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize("written", ["https://A.example", "HTTPS://a.example:443", "https://a.example"])
def test_origins_are_compared_as_browsers_write_them(connect: Connect, written: str) -> None:
    client = connect(allowed_origins=("http://b.example:80", written))
    for origin in ("https://a.example", "http://b.example"):
        answer = client.get("/livez", headers={"origin": origin})
        assert answer.headers["access-control-allow-origin"] == origin


@pytest.mark.parametrize("address", ["/", "/page/app.js", "/api/model", "/nowhere", "/livez"])
def test_every_answer_carries_the_headers_of_safety(client: TestClient, address: str) -> None:
    headers = client.get(address).headers
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"
    assert len(headers["x-request-id"]) == 16


def test_answers_are_not_stored_but_the_page_is_checked_for_news(client: TestClient) -> None:
    assert client.get("/api/model").headers["cache-control"] == "no-store"
    first = client.get("/page/style.css")
    assert first.headers["cache-control"] == "no-cache"
    assert first.headers["content-type"] == "text/css; charset=utf-8"
    again = client.get("/page/style.css", headers={"if-none-match": f'"other", W/{first.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]


def test_the_page_is_served_from_its_folder_alone(client: TestClient, page_folder: Path) -> None:
    answer = client.get("/")
    assert answer.content == (page_folder / "index.html").read_bytes()
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["etag"] == f'"{hashlib.sha256(answer.content).hexdigest()[:32]}"'
    assert client.get("/page/app.js").headers["content-type"] == "text/javascript; charset=utf-8"
    head = client.head("/")
    assert (head.status_code, head.content) == (200, b"")
    for name in ("notes.txt", "../secret.css", "%2e%2e/secret.css", "..%2fsecret.css", "/etc/passwd", ""):
        assert client.get(f"/page/{name}").status_code == 404


def test_a_missing_page_is_said_to_be_missing(connect: Connect, tmp_path: Path) -> None:
    assert connect(page=tmp_path).get("/").status_code == 404


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", "10.0.0.1", ""])
def test_a_host_that_others_reach_needs_a_token(host: str) -> None:
    with pytest.raises(InputError, match="--token-file"):
        ServiceConfig(host=host)


def test_a_host_that_stands_for_all_needs_a_name() -> None:
    with pytest.raises(InputError, match="--trusted-host"):
        ServiceConfig(host="0.0.0.0", token=TOKEN)
    assert "a.example" in ServiceConfig(host="0.0.0.0", token=TOKEN, trusted_hosts=("A.example",)).hosts


@pytest.mark.parametrize(
    "settings",
    [
        {"trusted_hosts": ("https://a.example",)},
        {"trusted_hosts": ("a.example:443",)},
        {"trusted_hosts": ("*",)},
        {"allowed_origins": ("*",)},
        {"allowed_origins": ("https://a.example/",)},
        {"allowed_origins": ("a.example",)},
        {"base_url": "a.example"},
        {"base_url": "https://a.example/?q"},
        {"base_url": "https://a example"},
    ],
)
def test_names_that_no_request_could_match_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="like"):
        ServiceConfig(**settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"trusted_hosts": ("dx2px", "[::1]", "10.0.0.7", "a_b.example")},
        {"allowed_origins": ("https://a.example", "http://localhost:3000", "http://[::1]:80")},
        {"base_url": "https://a.example:8443/dx2px/"},
    ],
)
def test_proper_names_are_taken(settings: dict[str, Any]) -> None:
    for name, value in settings.items():
        assert getattr(ServiceConfig(**settings), name) == value


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3", "::1"])
def test_loopback_needs_none(host: str) -> None:
    assert ServiceConfig(host=host).token is None


def test_the_token_is_never_shown() -> None:
    assert TOKEN not in repr(ServiceConfig(token=TOKEN))


def test_a_token_file_holds_one_long_word(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    assert read_token(path) == TOKEN
    for content in ("", "short", "two words of some length", "ümlauts-in-a-long-token"):
        path.write_text(content)
        with pytest.raises(InputError, match="one token"):
            read_token(path)
