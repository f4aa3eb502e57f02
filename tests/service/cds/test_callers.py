"""JWTs of CDS Hooks clients: the right key, the right claims, once. All else is refused alike."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from starlette.testclient import TestClient

from dx2px.errors import InputError
from dx2px.service.cds.callers import Callers

Connect = Callable[..., TestClient]
ROOT, ISSUER = "https://dx2px.example", "https://ehr.example"
DISCOVERY = "/cds-services"
KEYS: dict[str, Any] = {
    "ES384": ec.generate_private_key(ec.SECP384R1()),
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "RS384": rsa.generate_private_key(public_exponent=65537, key_size=2048),
}
STRANGER = ec.generate_private_key(ec.SECP384R1())


def public(name: str) -> dict[str, Any]:
    algorithm = jwt.get_algorithm_by_name(name)
    return {**json.loads(algorithm.to_jwk(KEYS[name].public_key())), "kid": name}


@pytest.fixture
def callers_file(tmp_path: Path) -> Path:
    path = tmp_path / "callers.json"
    path.write_text(json.dumps({"issuers": [{"iss": ISSUER, "keys": [public(name) for name in KEYS]}]}))
    return path


@pytest.fixture
def client(connect: Connect, callers_file: Path) -> TestClient:
    return connect(callers_file=callers_file, base_url=f"{ROOT}/", token="a-long-enough-token")


def claims(**change: Any) -> dict[str, Any]:
    now = int(time.time())
    told = {"iss": ISSUER, "aud": f"{ROOT}{DISCOVERY}", "iat": now, "exp": now + 300, "jti": str(uuid4())}
    return {name: value for name, value in (told | change).items() if value is not None}


def signed(key: Any = KEYS["ES384"], algorithm: str = "ES384", kid: str = "ES384", **change: Any) -> str:
    return jwt.encode(claims(**change), key, algorithm, {"kid": kid})


def call(client: TestClient, token: str, address: str = DISCOVERY) -> int:
    status: int = client.get(address, headers={"authorization": f"Bearer {token}"}).status_code
    return status


@pytest.mark.parametrize(
    ("name", "algorithm"), [("ES384", "ES384"), ("ES256", "ES256"), ("RS384", "RS384"), ("RS384", "RS256")]
)
def test_a_known_key_opens(client: TestClient, name: str, algorithm: str) -> None:
    assert call(client, signed(KEYS[name], algorithm, name)) == 200
    assert (
        call(client, signed(KEYS[name], algorithm, name, aud=["https://other", f"{ROOT}{DISCOVERY}"])) == 200
    )


def test_a_jwt_is_good_once(client: TestClient) -> None:
    token = signed()
    assert [call(client, token) for _ in range(3)] == [200, 401, 401]
    again = signed(jti="same")
    assert (call(client, again), call(client, signed(jti="same"))) == (200, 401)


@pytest.mark.parametrize(
    "change",
    [
        {"iss": "https://stranger.example"},
        {"iss": None},
        {"aud": f"{ROOT}/cds-services/dx2px-patient-view"},
        {"aud": "https://other.example/cds-services"},
        {"aud": None},
        {"exp": 1},
        {"exp": None},
        {"exp": 10**10},
        {"exp": "soon"},
        {"iat": None},
        {"iat": int(time.time()) + 3600},
        {"jti": None},
        {"iat": "now"},
        {"iat": True},
        {"nbf": int(time.time()) + 3600},
        {"nbf": "now"},
        {"nbf": [1]},
        {"exp": 10**400},
        {"iat": 10**400},
        {"nbf": -(10**400)},
        {"exp": str(int(time.time()) + 300)},
        {"exp": -1},
        {"exp": {"a": 1}},
        {"jti": ""},
        {"jti": 7},
        {"jti": "x" * 201},
        {"aud": [[f"{ROOT}{DISCOVERY}"]]},
        {"aud": [None, f"{ROOT}{DISCOVERY}"]},
        {"aud": {f"{ROOT}{DISCOVERY}": 1}},
        {"aud": f"{ROOT}{DISCOVERY}/"},
    ],
)
def test_wrong_claims_are_refused(client: TestClient, change: dict[str, Any]) -> None:
    assert call(client, signed(**change)) == 401


def sealed(head: str, body: str) -> str:
    """Texts of one's own, odd ones too, with a true signature."""
    parts = [base64.urlsafe_b64encode(part.encode()).rstrip(b"=") for part in (head, body)]
    signature = jwt.get_algorithm_by_name("ES384").sign(b".".join(parts), KEYS["ES384"])
    return b".".join([*parts, base64.urlsafe_b64encode(signature).rstrip(b"=")]).decode()


HEAD = '{"alg": "ES384", "kid": "ES384", "typ": "JWT"}'


def test_a_true_signature_opens(client: TestClient) -> None:
    assert call(client, sealed(HEAD, json.dumps(claims()))) == 200


@pytest.mark.parametrize("name", ["exp", "iat", "nbf"])
@pytest.mark.parametrize(
    "value", ["1e400", "-1e400", "NaN", "Infinity", "9" * 5000, "[[1]]", "null", "1e16", '"1"']
)
def test_times_that_are_no_numbers_are_refused(client: TestClient, name: str, value: str) -> None:
    text = json.dumps(claims(**{name: 4711}))
    assert call(client, sealed(HEAD, text.replace(f'"{name}": 4711', f'"{name}": {value}'))) == 401


@pytest.mark.parametrize("depth", [100, 900, 950, 980, 990, 2000, 20_000])
def test_nesting_is_refused_and_never_a_failure(client: TestClient, depth: int) -> None:
    nest = "[" * depth + "]" * depth
    for head, body in ((f'{{"x": {nest}}}', "{}"), (HEAD, f'{{"x": {nest}}}'), (nest, nest)):
        assert call(client, sealed(head, body)) == 401


@pytest.mark.parametrize(
    "more",
    [
        '"crit": ["exp"]',
        '"crit": []',
        '"crit": ["b64"], "b64": false',
        '"b64": false',
        '"kid": "ES384"',
        '"alg": "none"',
    ],
)
def test_heads_that_ask_for_more_are_refused(client: TestClient, more: str) -> None:
    """Extensions that must be understood, a payload that is not in the token, names given twice."""
    assert call(client, sealed(f"{HEAD[:-1]}, {more}}}", json.dumps(claims()))) == 401


@pytest.mark.parametrize(
    "head", ["[]", "null", "1", '{"alg": "ES384", "kid": 1}', '{"alg": ["ES384"], "kid": "ES384"}']
)
def test_heads_of_another_shape_are_refused(client: TestClient, head: str) -> None:
    assert call(client, sealed(head, json.dumps(claims()))) == 401
    assert call(client, sealed(HEAD, head)) == 401
    assert call(client, sealed(HEAD, json.dumps(claims(iss=[ISSUER])))) == 401


def test_a_host_does_not_change_the_audience(client: TestClient) -> None:
    """A path smuggled in through Host made an old router believe that the request was sent to another service."""
    order = "/cds-services/dx2px-order-select"
    token = signed(aud=f"{ROOT}{order}")
    for host in (f"localhost:{order}?", f"localhost{order}?", "localhost:1@evil.example", "localhost"):
        headers = {"authorization": f"Bearer {token}", "host": host}
        answer = client.post("/cds-services/dx2px-patient-view", json={}, headers=headers)
        assert answer.status_code == (401 if host == "localhost" else 400)


def test_any_failure_of_the_library_refuses(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (RecursionError, OverflowError, MemoryError, AttributeError, KeyError):

        def fail(*args: Any, error: type[Exception] = error, **options: Any) -> None:
            raise error

        monkeypatch.setattr(jwt, "decode", fail)
        assert call(client, signed()) == 401


def test_wrong_keys_are_refused(client: TestClient) -> None:
    assert call(client, signed(STRANGER)) == 401
    assert call(client, signed(kid="RS384")) == 401
    assert call(client, signed(kid="none")) == 401


def forged(algorithm: str, signature: bytes = b"") -> str:
    parts = [{"alg": algorithm, "typ": "JWT", "kid": "RS384"}, claims()]
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts]
    return b".".join([*encoded, base64.urlsafe_b64encode(signature).rstrip(b"=")]).decode()


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
@pytest.mark.parametrize(
    "algorithm", ["none", "None", "NONE", "HS256", "HS384", "HS512", "ES256K", "EdDSA", ""]
)
def test_no_signature_and_shared_secrets_are_refused(client: TestClient, algorithm: str) -> None:
    assert call(client, forged(algorithm)) == 401
    assert call(client, forged(algorithm, b"x" * 48)) == 401


def test_a_public_key_is_no_shared_secret(client: TestClient) -> None:
    """The old trick: sign by HMAC, with the public key's text as the secret."""
    head = forged("HS256").rpartition(".")[0]
    secret = json.dumps(public("RS384")).encode()
    signature = base64.urlsafe_b64encode(hmac.new(secret, head.encode(), hashlib.sha256).digest()).rstrip(
        b"="
    )
    assert call(client, f"{head}.{signature.decode()}") == 401


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "....", "é", "a-long-enough-token", "e30.e30.e30"])
def test_texts_that_are_no_jwt_are_refused(client: TestClient, token: str) -> None:
    answer = client.get(DISCOVERY, headers={b"authorization": f"Bearer {token}".encode()})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


def test_services_and_feedback_ask_for_their_own_audience(client: TestClient) -> None:
    for address in ("/cds-services/dx2px-patient-view", "/cds-services/dx2px-order-select/feedback"):
        assert client.post(address, json={}).status_code == 401
        token = signed(aud=f"{ROOT}{address}")
        assert client.post(address, json={}, headers={"authorization": f"Bearer {token}"}).status_code == 422


def test_the_api_keeps_its_token(client: TestClient) -> None:
    assert call(client, "a-long-enough-token", "/api/model") == 200
    assert call(client, signed(aud=f"{ROOT}/api/model"), "/api/model") == 401


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        '{"issuers": []}',
        '{"issuers": [{"iss": "a", "keys": []}]}',
        '{"issuers": [{"iss": "a", "keys": [{"kty": "oct", "k": "AAAA", "kid": "1"}]}]}',
        '{"issuers": [{"iss": "a", "keys": [{"kty": "EC", "kid": "1"}]}]}',
        '{"issuers": [{"iss": "", "keys": [{"kty": "RSA", "kid": "1"}]}]}',
        '{"issuers": 1}',
        "[]",
    ],
)
def test_a_useless_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "callers.json"
    path.write_text(content)
    with pytest.raises(InputError, match="must be JSON of the form"):
        Callers.load(path, ROOT)


def test_a_private_key_in_the_file_is_refused(tmp_path: Path) -> None:
    private = {**json.loads(jwt.get_algorithm_by_name("ES384").to_jwk(STRANGER)), "kid": "1"}
    path = tmp_path / "callers.json"
    path.write_text(json.dumps({"issuers": [{"iss": ISSUER, "keys": [private]}]}))
    with pytest.raises(InputError, match="public keys"):
        Callers.load(path, ROOT)
