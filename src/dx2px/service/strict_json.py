"""Strictly standard JSON: what other readers silently accept is refused.

Refused are NaN and Infinity, numbers beyond a double's range, integers of thousands of digits, names that occur twice
in an object, bytes that are not UTF-8, half surrogate pairs, and nesting deeper than Python's reader can go.
"""

from __future__ import annotations

import json
import math
from typing import Any


class NotJsonError(ValueError):
    """The bytes are not strict JSON; the message never repeats them."""


def loads(data: bytes) -> Any:
    """The value of a JSON text."""
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
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, str) and any("\ud800" <= mark <= "\udfff" for mark in one):
            raise NotJsonError("A text in the body holds half a surrogate pair.")
        if isinstance(one, list):
            pending += one
        elif isinstance(one, dict):
            pending += [*one.keys(), *one.values()]


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


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct, parse_float=_finite, parse_constant=_refuse)
