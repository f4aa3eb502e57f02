"""JSON that other readers bend is refused; all other JSON means what Python's reader says."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dx2px.service.strict_json import NotJsonError, loads

TEXTS = st.text(st.characters(codec="utf-8"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
)


@given(VALUES, st.booleans())
def test_reads_all_that_json_can_say(value: object, ascii_only: bool) -> None:
    assert loads(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'{"a": NaN}', "NaN"),
        (b"[Infinity]", "Infinity"),
        (b"[-Infinity]", "Infinity"),
        (b"[1e400]", "too large"),
        (b"[-1e999]", "too large"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'{"a": {"b": 1, "\\u0062": 2}}', "twice"),
        (b'["\xff"]', "UTF-8"),
        (b'["\xed\xa0\x80"]', "UTF-8"),
        (b'["\\ud800"]', "surrogate"),
        (b'{"\\udfff": 1}', "surrogate"),
        (b"[" * 20_000 + b"]" * 20_000, "deep"),
        (b'{"a":' * 20_000 + b"1" + b"}" * 20_000, "deep"),
        (b"[" + b"{}," * 100_000 + b"0]", "too many"),
        (b"9" * 5_000, "valid"),
        (b'["\0"]', "valid"),
        (b"\xef\xbb\xbf{}", "valid"),
        ('{"a": 1}'.encode("utf-16"), "UTF-8"),
        (b"", "valid"),
        (b"{} {}", "valid"),
        (b"{'a': 1}", "valid"),
    ],
)
def test_refuses_with_a_reason(data: bytes, why: str) -> None:
    with pytest.raises(NotJsonError, match=why):
        loads(data)


def test_a_whole_surrogate_pair_is_one_character() -> None:
    assert loads(b'"\\ud83d\\ude00"') == "\N{GRINNING FACE}"
