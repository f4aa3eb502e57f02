"""Bundles as record systems send them: what can be read is used, the rest is counted, and nothing raises."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dx2px.service.cds.fhir import coding, drafted_procedures, read_conditions

ICD9, ICD10 = "http://hl7.org/fhir/sid/icd-9-cm", "http://hl7.org/fhir/sid/icd-10-cm"
SNOMED = "http://snomed.info/sct"


def condition(*codings: tuple[Any, Any], **more: Any) -> dict[str, Any]:
    listed = [{"system": system, "code": code} for system, code in codings]
    return {"resourceType": "Condition", "code": {"coding": listed}} | more


def bundle(*resources: Any) -> dict[str, Any]:
    return {"resourceType": "Bundle", "type": "searchset", "entry": [{"resource": one} for one in resources]}


def status(name: str, code: str) -> dict[str, Any]:
    return {
        name: {
            "coding": [{"system": "http://terminology.hl7.org/CodeSystem/condition-clinical", "code": code}]
        }
    }


def test_icd_codings_are_picked_by_system() -> None:
    read = read_conditions([bundle(condition((SNOMED, "42343007"), (ICD9, "428.0"), (ICD10, "I50.9")))])
    assert read.conditions == (("icd9cm:4280", "icd10cm:I509"),)


@pytest.mark.parametrize(
    ("system", "code", "expected"),
    [
        (ICD9, "428.0", "icd9cm:4280"),
        (ICD9, " 4280 ", "icd9cm:4280"),
        (f"{ICD9}/", "0389", "icd9cm:0389"),
        ("HTTP://HL7.ORG/fhir/sid/icd-10-cm", "e11.9", "icd10cm:E119"),
        ("urn:oid:2.16.840.1.113883.6.90", "E11.9", "icd10cm:E119"),
        ("urn:oid:2.16.840.1.113883.6.103", "V45.81", "icd9cm:V4581"),
    ],
)
def test_spellings_of_a_system_and_of_a_code(system: str, code: str, expected: str) -> None:
    assert read_conditions([condition((system, code))]).conditions == ((expected,),)


def test_every_entry_has_one_fate() -> None:
    entries = [
        condition((ICD9, "428.0")),
        condition((ICD9, "584.9"), **status("clinicalStatus", "active")),
        condition((ICD9, "584.9"), **status("clinicalStatus", "resolved")),
        condition((ICD9, "584.9"), **status("verificationStatus", "entered-in-error")),
        condition((SNOMED, "1")),
        condition(),
        condition((ICD9, "not a code")),
        condition((ICD9, 428)),
        condition((ICD9, None)),
        {"resourceType": "Condition"},
        {"resourceType": "Condition", "code": {"coding": "428.0"}},
        {"resourceType": "Condition", "code": {"coding": ["428.0"]}},
        {"resourceType": "OperationOutcome", "issue": []},
        {"code": {}},
        None,
        "CANARY",
    ]
    read = read_conditions([bundle(*entries)])
    assert read.counts == {
        "used": 2,
        "unknown": 0,
        "unreadable": 9,
        "without_icd": 2,
        "not_current": 2,
        "beyond_limit": 0,
        "other": 1,
        "not_sent": 0,
    }
    assert sum(read.counts.values()) == len(entries)


def test_a_damaged_coding_beside_a_good_one_does_not_spoil_it() -> None:
    read = read_conditions([condition((ICD9, "nonsense"), (ICD9, "428.0"), (ICD10, 5))])
    assert read.conditions == (("icd9cm:4280",),)


@pytest.mark.parametrize(
    ("sent", "unreadable"),
    [
        ([None], 0),
        ([{"resourceType": "Bundle"}], 0),
        ([{"resourceType": "Bundle", "entry": []}], 0),
        ([{"resourceType": "Bundle", "entry": None}], 1),
        ([{"resourceType": "Bundle", "entry": {}}], 1),
        ([{"resourceType": "Bundle", "entry": [1, {}, {"resource": []}]}], 3),
        ([{}], 1),
    ],
)
def test_bundles_without_entries(sent: list[Any], unreadable: int) -> None:
    assert (read_conditions(sent).conditions, read_conditions(sent).unreadable) == ((), unreadable)


NEXT = {"relation": "next", "url": "https://ehr.example/fhir?page=2"}


@pytest.mark.parametrize(
    ("more", "not_sent", "complete"),
    [
        ({}, 0, True),
        ({"total": 1}, 0, True),
        ({"total": 250}, 249, False),
        ({"total": 250, "link": [NEXT]}, 249, False),
        ({"total": 0}, 0, True),  # fewer than were sent: the record system miscounted
        ({"link": [{"relation": "self", "url": "x"}]}, 0, True),
        ({"link": [{"relation": "self"}, NEXT]}, 0, False),
        ({"link": [{"relation": "previous"}]}, 0, False),
        ({"total": 1, "link": [NEXT]}, 0, False),
        ({"total": True}, 0, True),
        ({"total": "250"}, 0, True),
        ({"total": -1}, 0, True),
        ({"total": 10**400}, 0, True),
        ({"total": 10**400, "link": [NEXT]}, 0, False),
        ({"link": NEXT}, 0, True),
        ({"link": [{"relation": ["next"]}, 1, None]}, 0, True),
    ],
)
def test_a_page_is_not_taken_for_the_whole(more: dict[str, Any], not_sent: int, complete: bool) -> None:
    read = read_conditions([bundle(condition((ICD9, "428.0"))) | more])
    assert (read.counts["used"], read.not_sent, read.complete) == (1, not_sent, complete)


def test_totals_count_what_was_searched_for() -> None:
    found = bundle(
        condition((ICD9, "428.0")), {"resourceType": "Patient"}, {"resourceType": "OperationOutcome"}
    )
    for entry, mode in zip(found["entry"], ("match", "include", "outcome"), strict=True):
        entry["search"] = {"mode": mode}
    assert read_conditions([found | {"total": 1}]).complete
    assert read_conditions([found | {"total": 3}]).not_sent == 2
    both = [found | {"total": 2}, {"resourceType": "Bundle", "total": 7}]
    assert read_conditions(both).not_sent == 8


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers()
    | st.sampled_from([ICD9, "428.0", "Bundle", "Condition", "active"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "resourceType",
                    "entry",
                    "resource",
                    "code",
                    "coding",
                    "system",
                    "clinicalStatus",
                    "total",
                    "link",
                    "relation",
                    "search",
                    "mode",
                ]
            ),
            inner,
        )
    ),
    max_leaves=20,
)


@given(st.lists(JSON, max_size=3))
def test_no_json_makes_the_reader_fail(sent: list[Any]) -> None:
    read = read_conditions(sent)
    assert all(code.partition(":")[0] in ("icd9cm", "icd10cm") for codes in read.conditions for code in codes)
    drafted_procedures(sent)


def test_drafts_are_read_as_procedures() -> None:
    order = {"resourceType": "ServiceRequest", "code": {"coding": [{"system": ICD9, "code": "39.95"}]}}
    drug = {"resourceType": "MedicationRequest", "code": {"coding": [{"system": ICD9, "code": "37.22"}]}}
    assert drafted_procedures(bundle(order, drug, None)) == {"icd9pcs:3995"}
    assert drafted_procedures(None) == frozenset()


@pytest.mark.parametrize("code", ["icd9cm:4280", "icd10cm:E119"])
def test_what_is_written_can_be_read(code: str) -> None:
    written = coding(code, "title")
    assert read_conditions([condition((written["system"], written["code"]))]).conditions == ((code,),)
