"""`dx2px find`: codes by words."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest


def test_words_find_codes_of_every_system(ask: Callable[..., Any]) -> None:
    done = ask("find", "heart", "failure")
    assert done.returncode == 0
    assert "428.9" in done.stdout
    assert "I50.9" in done.stdout
    assert "ICD-10-CM diagnosis" in done.stdout
    assert len([line for line in done.stdout.splitlines() if "diagnosis" in line]) == 10


@pytest.mark.parametrize(("kind", "found"), [("diagnosis", False), ("procedure", True)])
def test_a_kind_can_be_chosen(ask: Callable[..., Any], kind: str, found: bool) -> None:
    done = ask("find", "hemodial", "--kind", kind)
    assert ("39.95" in done.stdout) == found


def test_json_has_canonical_codes(ask: Callable[..., Any]) -> None:
    found = json.loads(ask("find", "hemodialysis", "--top", "1", "--json").stdout)
    assert found == {"query": "hemodialysis", "codes": [{"code": "icd9pcs:3995", "title": "Hemodialysis"}]}
    assert json.loads(ask("find", "qqqq", "--json").stdout)["codes"] == []


def test_nothing_found_is_not_an_error(ask: Callable[..., Any]) -> None:
    done = ask("find", "qqqq")
    assert (done.returncode, done.stdout) == (0, "")
    assert "No code matches 'qqqq'" in done.stderr
