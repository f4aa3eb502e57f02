"""Reads a JWT strictly, before its signature is checked and before a library sees it.

Versions of the library differ in what they make of odd tokens: deep nesting, numbers without end, names given twice,
extensions that must be understood. So none of that reaches it.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from dx2px.service import strict_json

_LONGEST = 16 * 1024  # characters of a token
_TIMES = ("exp", "iat", "nbf")
_LATEST = 2**53  # seconds; every whole number up to here is exact in a double


class NotJwtError(ValueError):
    """The text is not a JWT that this service reads."""


@dataclass(frozen=True)
class Unverified:
    """What a JWT says of itself. Nothing of it may be believed before the signature is checked."""

    issuer: str
    key_id: str
    algorithm: str
    jwt_id: str
    ends: float


def read(token: str) -> Unverified:
    """The parts of a JWT that are needed to check it."""
    parts = token.split(".")
    if len(parts) != 3 or len(token) > _LONGEST:
        raise NotJwtError
    head, claims = _object(parts[0]), _object(parts[1])
    if "crit" in head:  # it lists extensions that must be understood; this service understands none
        raise NotJwtError
    times = {name: _time(claims[name]) for name in _TIMES if name in claims}
    if "exp" not in times:
        raise NotJwtError
    return Unverified(
        issuer=_text(claims.get("iss")),
        key_id=_text(head.get("kid")),
        algorithm=_text(head.get("alg")),
        jwt_id=_text(claims.get("jti")),
        ends=times["exp"],
    )


def _object(part: str) -> dict[str, Any]:
    """A part of a token: an object in JSON, in base64 for URLs without padding."""
    data = base64.b64decode(part.encode("ascii") + b"=" * (-len(part) % 4), altchars=b"-_", validate=True)
    value = strict_json.loads(data)
    if not isinstance(value, dict):
        raise NotJwtError
    return value


def _time(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < _LATEST:
        raise NotJwtError
    return float(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise NotJwtError
    return value
