"""What a record system sends about a stay besides its conditions: Patient, Encounter and Procedures.

All of it is optional, and what cannot be read is as if it had not been sent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from dx2px.answers.facts import OLDEST, Facts
from dx2px.service.answers import Answers
from dx2px.service.cds.fhir import codes_of, concept_codes, is_a, is_current, resources
from dx2px.service.schemas import MOST_CODES

_SEXES = {"female": "F", "male": "M"}  # of FHIR's four genders
_DONE = frozenset({"completed", "in-progress"})
_ROLES = (
    "billing",
    "DD",
)  # for billing, at discharge: the roles in which the first diagnosis is the principal one
_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})(?:T.*)?)?)?", re.DOTALL)
_CONDITION = re.compile(r"(?:.*/)?Condition/([A-Za-z0-9.-]{1,64})(?:/_history/[^/]*)?", re.DOTALL)


@dataclass(frozen=True)
class Known:
    """What was read: codes in the order sent, of each resource all its ICD codes."""

    age: int | None = None
    sex: str | None = None
    principal: tuple[str, ...] = ()
    procedures: tuple[tuple[str, ...], ...] = ()
    finished: bool = False  # the encounter: nothing more will be done, so what is coded can be checked

    def facts(self, answers: Answers) -> Facts:
        """As much of it as a model takes."""
        if not answers.takes_evidence:
            return {}
        facts: Facts = {"age": self.age, "sex": self.sex, "coded": self._coded(answers)}
        if self.principal and answers.takes_principal:
            facts["principal"] = answers.chosen(self.principal)
        return facts

    def _coded(self, answers: Answers) -> list[str] | None:
        """The procedures that the model knows, each once."""
        known = (code for codes in self.procedures for code in answers.known_codes(codes, "procedure")[:1])
        return list(dict.fromkeys(known))[:MOST_CODES] or None


def read_known(
    patient: Any, encounter: Any, procedures: Any, conditions: Sequence[Any], today: date
) -> Known:
    """Read the prefetched resources; the principal diagnosis is looked up among the `conditions`."""
    person, stay = _first(patient, "Patient"), _first(encounter, "Encounter")
    gender = person.get("gender")
    return Known(
        age=_age(person.get("birthDate"), _start(stay) or today),
        sex=_SEXES.get(gender) if isinstance(gender, str) else None,
        principal=_principal(stay, conditions),
        procedures=tuple(filter(None, dict.fromkeys(map(_done, resources([procedures]))))),
        finished=stay.get("status") == "finished",
    )


def _first(sent: Any, kind: str) -> dict[str, Any]:
    return next((one for one in resources([sent]) if is_a(one, kind)), {})


def _start(encounter: dict[str, Any]) -> date | None:
    period = encounter.get("period")
    return _day(period.get("start")) if isinstance(period, dict) else None


def _age(birth: Any, at: date) -> int | None:
    """Completed years. Where a date has no day or month, its middle is taken."""
    born = _day(birth)
    if born is None or born.year > at.year:
        return None
    years = max(0, at.year - born.year - ((at.month, at.day) < (born.month, born.day)))
    return years if years <= OLDEST else None


def _day(text: Any) -> date | None:
    """The day of a FHIR date or dateTime of any precision."""
    found = _DATE.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    year, month, day = found.groups()
    try:
        return date(int(year), int(month or 7), int(day or (15 if month else 1)))
    except ValueError:
        return None


def _principal(encounter: dict[str, Any], conditions: Sequence[Any]) -> tuple[str, ...]:
    """The ICD codes of the Condition that the Encounter ranks first for billing, or else at discharge."""
    listed = encounter.get("diagnosis")
    ranked = [one for one in listed if _is_first(one)] if isinstance(listed, list) else []
    for role in (*_ROLES, None):
        for one in ranked:
            roles = concept_codes(one, "use")
            if (role in roles) if role else not roles:
                return _codes_at(one.get("condition"), conditions)
    return ()


def _is_first(one: Any) -> bool:
    return isinstance(one, dict) and type(one.get("rank")) is int and one["rank"] == 1


def _codes_at(reference: Any, conditions: Sequence[Any]) -> tuple[str, ...]:
    text = reference.get("reference") if isinstance(reference, dict) else None
    found = _CONDITION.fullmatch(text) if isinstance(text, str) else None
    for one in resources(conditions) if found else ():
        if is_a(one, "Condition") and found and one.get("id") == found[1]:
            return (codes_of(one, "diagnosis") or ()) if is_current(one) else ()
    return ()


def _done(resource: Any) -> tuple[str, ...]:
    """The ICD codes of a Procedure that was done or is being done."""
    status = resource.get("status") if is_a(resource, "Procedure") else None
    done = isinstance(status, str) and status in _DONE
    return (codes_of(resource, "procedure") or ()) if done else ()
