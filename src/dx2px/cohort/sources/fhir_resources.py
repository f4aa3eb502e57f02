"""What is read of a FHIR R4 resource, as rows. Whatever has not the form that the standard gives it counts as absent.

| table      | a row per                                        | columns                                            |
|------------|--------------------------------------------------|----------------------------------------------------|
| codings    | coding of a Condition or Procedure; one without  | file, line, kind, id, encounter, patient, code,    |
|            | codings gives one row without a code             | version (see `entries`), refused (a reason),       |
|            |                                                  | chief (ICD, or the resource has no ICD coding)     |
| encounters | Encounter                                        | id, part_of, patient, start, apart, admission      |
| links      | Condition that an Encounter lists                | encounter, condition, position, principal          |
| patients   | Patient                                          | id, birth, sex                                     |

Days are numbers yyyymmdd as text; a month or day that is not given is 00.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from dx2px.codes import Kind
from dx2px.codes.uris import system_at
from dx2px.cohort.sources.entries import LESS_PRINCIPAL, NOT_ICD, PRINCIPAL
from dx2px.cohort.verdicts import WITHDRAWN

Resource = dict[str, Any]
Rows = Iterator[tuple[str, dict[str, Any]]]  # the table, and the row
TEXT, FLAG, SMALL, WHOLE = pa.string(), pa.bool_(), pa.int8(), pa.int64()
SCHEMAS = {
    "codings": pa.schema(
        [
            *[("file", TEXT), ("line", WHOLE), ("kind", TEXT), ("id", TEXT), ("encounter", TEXT)],
            *[("patient", TEXT), ("code", TEXT), ("version", SMALL), ("refused", TEXT), ("chief", FLAG)],
        ]
    ),
    "encounters": pa.schema(
        [
            *[("id", TEXT), ("part_of", TEXT), ("patient", TEXT), ("start", TEXT)],
            *[("apart", FLAG), ("admission", TEXT)],
        ]
    ),
    "links": pa.schema([("encounter", TEXT), ("condition", TEXT), ("position", WHOLE), ("principal", SMALL)]),
    "patients": pa.schema([("id", TEXT), ("birth", TEXT), ("sex", TEXT)]),
}
# Visits that are no hospital stays, by Encounter.class: ambulatory, virtual, at home, in the field.
NO_STAY = {"AMB", "VR", "HH", "FLD"}
NOT_HELD = {"planned", "cancelled", "entered-in-error"}
WRONG = {"refuted", "entered-in-error"}  # verificationStatus of a Condition
NOT_DONE = {"preparation", "not-done", "entered-in-error"}  # status of a Procedure
OTHER_ROLES = {"cc", "cm", "pre-op", "post-op"}  # first among complaints or comorbidities is not principal
PRIORITIES = {"em": "emergency", "ur": "urgent", "el": "elective", "r": "routine"}  # of v3-ActPriority
DAY = re.compile(r"(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?(?:$|T)")
MOST_RANK = 10_000


def condition_rows(resource: Resource) -> Rows:
    """The codings of a diagnosis."""
    wrong = WRONG & set(_codes(resource.get("verificationStatus")))
    yield from _codings(resource, "diagnosis", refused=bool(wrong))


def procedure_rows(resource: Resource) -> Rows:
    """The codings of a procedure."""
    yield from _codings(resource, "procedure", refused=_text(resource.get("status")) in NOT_DONE)


def encounter_rows(resource: Resource) -> Rows:
    """The encounter, and the conditions that it lists."""
    place = _text(_object(resource.get("class")).get("code"))
    own = _text(resource.get("id"))
    yield (
        "encounters",
        {
            "id": own,
            "part_of": _reference(resource.get("partOf"), "Encounter"),
            "patient": _reference(resource.get("subject"), "Patient"),
            "start": _day(_object(resource.get("period")).get("start")),
            "apart": place in NO_STAY or _text(resource.get("status")) in NOT_HELD,
            "admission": _admission(resource),
        },
    )
    for listed in map(_object, _list(resource.get("diagnosis"))):
        condition = _reference(listed.get("condition"), "Condition")
        if condition is not None:
            rank = _rank(listed)
            mark = _principal(rank, _codes(listed.get("use")))
            row = {"encounter": own, "condition": condition, "position": rank, "principal": mark}
            yield "links", row


def patient_rows(resource: Resource) -> Rows:
    """Birth and sex of a patient."""
    row = {"birth": _day(resource.get("birthDate")), "sex": _text(resource.get("gender"))}
    yield "patients", {"id": _text(resource.get("id")), **row}


READERS: dict[str, Callable[[Resource], Rows]] = {
    "Condition": condition_rows,
    "Procedure": procedure_rows,
    "Encounter": encounter_rows,
    "Patient": patient_rows,
}


def problem_of(resource: Resource) -> str | None:
    """Why an object cannot be used at all, or None."""
    kind = resource.get("resourceType")
    if not isinstance(kind, str):
        return "the object is not a FHIR resource: it has no resourceType"
    if kind in ("Encounter", "Patient") and _text(resource.get("id")) is None:
        return f"the {kind} has no id, so nothing can refer to it"
    return None


def _codings(resource: Resource, kind: Kind, refused: bool) -> Rows:
    row = {
        "kind": kind,
        "id": _text(resource.get("id")),
        "encounter": _reference(resource.get("encounter"), "Encounter"),
        "patient": _reference(resource.get("subject"), "Patient"),
        "refused": WITHDRAWN if refused else None,
    }
    codings = [_object(one) for one in _list(_object(resource.get("code")).get("coding")) or [None]]
    systems = [system_at(coding.get("system"), kind) for coding in codings]
    for coding, system in zip(codings, systems, strict=True):
        version = NOT_ICD if system is None else system.version
        chief = system is not None or not any(systems)
        yield "codings", {**row, "code": _text(coding.get("code")), "version": version, "chief": chief}


def _admission(encounter: Resource) -> str | None:
    """The type of admission: the priority in plain words, else the encounter's type as it is written."""
    known = [PRIORITIES[code] for code in _codes(encounter.get("priority")) if code in PRIORITIES]
    concepts = [encounter.get("priority"), *_list(encounter.get("type"))]
    return next(iter(known), None) or next(filter(None, map(_words, concepts)), None)


def _words(concept: Any) -> str | None:
    """A CodeableConcept as its author would say it."""
    codings = map(_object, _list(_object(concept).get("coding")))
    shown = (_text(coding.get("display")) for coding in codings)
    return _text(_object(concept).get("text")) or next(filter(None, shown), None)


def _principal(rank: int | None, roles: list[str]) -> int | None:
    """Whether an Encounter calls a diagnosis its principal one: rank 1, not among complaints or comorbidities."""
    if "principal" in roles:
        return PRINCIPAL
    if rank != 1 or OTHER_ROLES.intersection(roles):
        return None
    return LESS_PRINCIPAL if roles == ["ad"] else PRINCIPAL  # ad: the admission diagnosis


def _rank(listed: Resource) -> int | None:
    rank = listed.get("rank")
    usable = isinstance(rank, int) and not isinstance(rank, bool) and 0 < rank < MOST_RANK
    return rank if usable else None


def _codes(concept: Any) -> list[str]:
    """The codes of a CodeableConcept in lower case, whatever their systems."""
    codes = (_text(_object(coding).get("code")) for coding in _list(_object(concept).get("coding")))
    return [code.lower() for code in codes if code]


def _reference(value: Any, kind: str) -> str | None:
    """The id that a reference points to: `Kind/id`, an address that ends so, or a URN."""
    written = _text(_object(value).get("reference"))
    if written is None or written.startswith("#") or "?" in written:
        return None
    if written.startswith("urn:"):
        return written.rpartition(":")[2] or None
    *before, own = written.partition("/_history/")[0].split("/")
    return own or None if before[-1:] == [kind] else None


def _day(value: Any) -> str | None:
    found = DAY.match(_text(value) or "")
    return "".join(part or "00" for part in found.groups()) if found else None


def _object(value: Any) -> Resource:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    """Text without surrounding blanks that can be written to a file; None for anything else."""
    if not isinstance(value, str) or any("\ud800" <= letter <= "\udfff" for letter in value):
        return None
    return value.strip() or None
