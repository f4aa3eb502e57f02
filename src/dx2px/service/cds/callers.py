"""Which CDS Hooks clients may call: those with a JWT signed by a key listed in a file. Keys are never fetched.

The file is JSON: {"issuers": [{"iss": "https://ehr.example", "keys": [{"kty": "EC", "crv": "P-384", "kid": "1", …}]}]}
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import jwt
from jwt import PyJWK
from starlette.requests import Request

from dx2px.errors import InputError
from dx2px.service import strict_json
from dx2px.service.cds import jwts
from dx2px.service.cds.jwts import Unverified
from dx2px.service.cds.used_ids import UsedIds
from dx2px.service.problems import ProblemError, refuse

ALGORITHMS = {"RSA": ("RS384", "RS256", "RS512"), "EC": ("ES384", "ES256", "ES512")}
_CURVES = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}
_REQUIRED = ["iss", "aud", "exp", "iat", "jti"]
_LONGEST_LIFE = 3600  # seconds from now until a JWT expires
_LEEWAY = 10
_LONGEST_ID = 200


class Callers:
    """The allowed issuers, their keys, and the ids of JWTs already used."""

    def __init__(self, keys: dict[tuple[str, str], PyJWK], root: str, used: UsedIds | None = None) -> None:
        self._keys, self._root = keys, root
        self._used = used or UsedIds()

    @classmethod
    def load(cls, path: Path, root: str, used: UsedIds | None = None) -> Callers:
        """Read the file of issuers."""
        try:
            listed = strict_json.loads(path.read_bytes())["issuers"]
            pairs = [(_text(issuer["iss"]), key) for issuer in listed for key in issuer["keys"]]
            keys = {(issuer, _text(key["kid"])): _public(key) for issuer, key in pairs}
        except (strict_json.NotJsonError, KeyError, TypeError, ValueError, jwt.PyJWTError):
            keys = {}
        if not keys:
            raise InputError(
                f'{path} must be JSON of the form {{"issuers": [{{"iss": …, "keys": [public keys as JWK, RSA or EC, '
                "each with its kid]}]}."
            )
        return cls(keys, root, used)

    def check(self, request: Request, address: str) -> None:
        """Let a request to one of the service's addresses pass, or raise the problem that refuses it.

        The audience is the address as the service itself knows it, never as the request names it.
        """
        scheme, _, shown = request.headers.get("authorization", "").partition(" ")
        try:
            if scheme.lower() != "bearer":
                raise jwt.InvalidTokenError
            token = shown.strip()
            stated = jwts.read(token)
            self._verify(token, stated, self._root + address)
            self._use(stated)
        except Exception:  # whatever a library makes of a bad token, the token is refused: that is no failure
            raise _unauthorized() from None

    def _verify(self, token: str, stated: Unverified, audience: str) -> None:
        """Raise unless issuer, key, signature, audience and times are right."""
        key = self._keys.get((stated.issuer, stated.key_id))
        if key is None or stated.algorithm not in _algorithms(key):
            raise jwt.InvalidTokenError
        jwt.decode(
            token,
            key.key,
            algorithms=_algorithms(key),
            audience=audience,
            issuer=stated.issuer,
            leeway=_LEEWAY,
            options={"require": _REQUIRED, "strict_aud": False},
        )

    def _use(self, stated: Unverified) -> None:
        """A JWT's id may be used once until the JWT expires."""
        now = time.time()
        if not 0 < len(stated.jwt_id) <= _LONGEST_ID or stated.ends > now + _LONGEST_LIFE:
            raise jwt.InvalidTokenError
        if not self._used.use(stated.issuer, stated.jwt_id, stated.ends, now - _LEEWAY):
            raise jwt.InvalidTokenError


def _public(key: dict[str, Any]) -> PyJWK:
    """A public key. A symmetric or private key in the file is a mistake that stops the start."""
    if (
        key.get("kty") not in ALGORITHMS
        or "d" in key
        or (key["kty"] == "EC" and key.get("crv") not in _CURVES)
    ):
        raise ValueError
    return PyJWK(key, algorithm=_CURVES[key["crv"]] if key["kty"] == "EC" else "RS384")


def _algorithms(key: PyJWK) -> list[str]:
    """The algorithms that a key may sign with: one per curve, or the RSA family."""
    return [key.algorithm_name] if key.key_type == "EC" else list(ALGORITHMS["RSA"])


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError
    return value


def _unauthorized() -> ProblemError:
    return refuse(
        401,
        "unauthorized",
        "This needs a JWT from an allowed issuer: Authorization: Bearer …",
        www_authenticate="Bearer",
    )
