"""Strictly standard JSON: what other readers silently accept is refused.

Refused are NaN and Infinity, numbers beyond a double's range, integers of thousands of digits, names that occur twice
in an object, bytes that are not UTF-8, half surrogate pairs, nesting deeper than Python's reader can go, and so many
lists and objects that reading them would keep other callers waiting.
"""

from __future__ import annotations

import json
import math
from typing import Any

_MOST_PARTS = 100_000  # lists and objects; a megabyte of Conditions, without a blank, has 45,000


class NotJsonError(ValueError):
    """The bytes are not strict JSON; the message never repeats them."""


def loads(data: bytes) -> Any:
    """The value of a JSON text."""
    if data.count(b"[") + data.count(b"{") > _MOST_PARTS:
        raise NotJsonError("The body has too many lists and objects.")
    try:
        value = _DECODER.decode(data.decode("utf-8"))
    except NotJsonError:
        raise
    except UnicodeDecodeError:
        raise NotJsonError("The body is not UTF-8 text.") from None
    except RecursionError:
        raise NotJsonError("The body is nested too deeply.") from None
    except ValueError:
        raise NotJsonError("The body is not valid JSON.") from None
    if b"\\u" in data:  # only an escape can get half a pair past the UTF-8 check
        _check_texts(value)
    return value


def _check_texts(value: Any) -> None:
    """UTF-8 cannot hold half a pair. To write the whole value again is faster than to look at each text."""
    try:
        _ENCODER.encode(value).encode("utf-8")
    except UnicodeEncodeError:
        raise NotJsonError("A text in the body holds half a surrogate pair.") from None
    except RecursionError:
        raise NotJsonError("The body is nested too deeply.") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise NotJsonError("An object in the body has the same name twice.")
    return value


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotJsonError("A number in the body is too large.")
    return number


def _refuse(name: str) -> Any:
    raise NotJsonError("NaN and Infinity are not JSON.")


_ENCODER = json.JSONEncoder(ensure_ascii=False, check_circular=False)
_DECODER = json.JSONDecoder(object_pairs_hook=_distinct, parse_float=_finite, parse_constant=_refuse)
