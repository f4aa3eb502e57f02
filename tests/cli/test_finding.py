"""`dx2px find`: codes by words."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest


def test_words_find_codes_of_every_system(ask: Callable[..., Any]) -> None:
    done = ask("find", "heart", "failure")
    assert done.returncode == 0
    assert "428.0" in done.stdout.splitlines()[3]  # the most used one
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
    assert found["query"] == "hemodialysis"
    assert [(one["code"], one["title"]) for one in found["codes"]] == [("icd9pcs:3995", "Hemodialysis")]
    assert found["codes"][0]["stays"] > 1000  # of the package's model
    assert json.loads(ask("find", "qqqq", "--json").stdout)["codes"] == []


def test_nothing_found_is_not_an_error(ask: Callable[..., Any]) -> None:
    done = ask("find", "qqqq")
    assert (done.returncode, done.stdout) == (0, "")
    assert "No code matches 'qqqq'" in done.stderr


def test_looking_for_nothing_is_a_mistake(ask: Callable[..., Any]) -> None:
    done = ask("find", " ")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Write what to look for" in done.stderr


def test_coded_procedures_that_cannot_be_used_are_said(ask: Callable[..., Any]) -> None:
    done = ask("recommend", "820.21", "--coded", "99.04,585.6,79.355,hemodialysis,foo")
    assert (
        "4 of 5 coded procedures are unknown to the model and not used: 585.6, 79.355, hemodialysis, foo."
        in done.stderr
    )
    assert "585.6 is a diagnosis (End stage renal disease), not a procedure." in done.stderr
    assert "79.355 is in no list of codes: did you mean 79.35 Open reduction" in done.stderr
    assert "'hemodialysis': did you mean 39.95 Hemodialysis?" in done.stderr


def test_everyday_words_and_typing_mistakes_are_understood(ask: Callable[..., Any]) -> None:
    for words, code in (("heart attack", "410.71"), ("C-section", "74.1"), ("broken hip", "820.21")):
        assert code in ask("find", *words.split()).stdout.splitlines()[3]
    done = ask("find", "diabetis")
    assert "250.00" in done.stdout.splitlines()[3]
    assert "Read as diabetes." in done.stderr
    assert "E11" in ask("find", "sugar").stdout  # the other version is not crowded out


def test_questions_may_be_asked_in_words(ask: Callable[..., Any]) -> None:
    in_words = ask("recommend", "heart", "failure,", "diabetis", "585.6", "--json")
    in_codes = ask("recommend", "428.0", "250.00", "585.6", "--json")
    assert json.loads(in_words.stdout) == json.loads(in_codes.stdout)
    assert "Read 'heart failure' as 428.0 Congestive heart failure, unspecified." in in_words.stderr
    assert "Read 'diabetis' as 250.00" in in_words.stderr
    assert "It may also be 428" in in_words.stderr


def test_words_in_place_of_a_code_get_suggestions_of_both_kinds(ask: Callable[..., Any]) -> None:
    done = ask("neighbors", "heart", "attack")
    assert (done.returncode, done.stdout) == (1, "")
    assert "'heart attack': did you mean 410.71 Subendocardial infarction" in done.stderr
    assert "'hemodialysis': did you mean 39.95 Hemodialysis?" in ask("neighbors", "hemodialysis").stderr
    longer = ask("neighbors", "585.66").stderr
    assert "did you mean 585.6 End stage renal disease?" in longer
    assert "58.5 " not in longer


def test_what_is_not_a_diagnosis_is_said_and_what_was_meant(ask: Callable[..., Any]) -> None:
    alone = ask("recommend", "39.95")
    assert (alone.returncode, alone.stdout) == (1, "")
    assert "39.95 is a procedure (Hemodialysis), not a diagnosis." in alone.stderr
    beside = ask("explain", "585.6", "39.95")
    assert beside.returncode == 0
    assert "39.95 is a procedure (Hemodialysis), not a diagnosis." in beside.stderr
    longer = ask("recommend", "585.66")
    assert longer.returncode == 0
    assert "585.66 is in no list of codes: did you mean 585.6 End stage renal disease?" in longer.stderr
    without_dot = ask("recommend", "410.71", "3607")  # as a diagnosis, 360.7 is in no list
    assert "36.07 is a procedure (Insertion of drug-eluting coronary" in without_dot.stderr
    assert "is a procedure" not in ask("recommend", "410.71", "410.0").stderr  # a heading, and not 41.00
    unfinished = ask("recommend", "585.6", "foo")  # a beginning of food and foot, but no word
    assert "1 of 2 diagnoses is unknown to the model and not used: foo." in unfinished.stderr
    assert "Read" not in unfinished.stderr
