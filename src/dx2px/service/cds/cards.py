"""Turns a recommendation into a CDS Hooks card, with one suggestion per procedure."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote
from uuid import uuid4

from dx2px.codes import dotted, title
from dx2px.service.cds.fhir import MOST_READ, Reading, coding
from dx2px.service.cds.messages import Context

HABITS = "This reflects how similar stays were coded, for billing, after the stay. It is not medical advice."
_SUMMARY = 139  # characters; the standard says fewer than 140
_LABEL = 100
_REASONS, _REASON_FROM = 3, 0.05
_LINKED = 100  # codes in the link to the page


def card_of(
    recommended: list[dict[str, Any]],
    diagnoses: list[dict[str, Any]],
    reading: Reading,
    context: Context,
    root: str,
) -> dict[str, Any]:
    """The card for recommended procedures, given as `Recommendation.to_dict` has them."""
    used = [one for one in diagnoses if one["status"] != "unknown"]
    names = {one["code"]: one["title"] for one in diagnoses}
    return {
        "uuid": str(uuid4()),
        "summary": _summary(recommended, len(used)),
        "indicator": "info",
        "detail": _detail(recommended, names, reading),
        "source": {"label": "dx2px: coding habits in hospital data", "url": f"{root}/"},
        "links": [{"label": "Show all reasons", "url": _link(used, root), "type": "absolute"}],
        "suggestions": [_suggestion(one, context, names) for one in recommended],
        "selectionBehavior": "any",
    }


def _summary(recommended: list[dict[str, Any]], diagnoses: int) -> str:
    start = f"Often coded with {'this diagnosis' if diagnoses == 1 else f'these {diagnoses} diagnoses'}: "
    return cut(start + "; ".join(_name(one) for one in recommended), _SUMMARY)


def _detail(recommended: list[dict[str, Any]], names: dict[str, str], reading: Reading) -> str:
    lines = [f"{place}. {_line(one, names)}" for place, one in enumerate(recommended, start=1)]
    return "\n".join([*lines, "", _read(reading), "", f"*{HABITS}*"])


def _line(one: dict[str, Any], names: dict[str, str]) -> str:
    reasons = [reason for reason in one["because"][:_REASONS] if reason["share"] >= _REASON_FROM]
    because = ", ".join(
        f"{_plain(_title(r['code'], names))} ({dotted(r['code'])}, {r['share']:.0%})" for r in reasons
    )
    chance = "" if one["probability"] is None else f", coded in {one['probability']:.0%} of such stays"
    return f"**{_plain(one['title'])}** ({dotted(one['code'])}{chance})" + (f": {because}" if because else "")


def _read(reading: Reading) -> str:
    """How much of what the record system has the card is based on."""
    counts = reading.counts
    total = sum(counts.values()) - reading.other
    left = {
        "no longer current, refuted or entered in error": reading.not_current,
        "without an ICD code": reading.without_icd,
        "unreadable": reading.unreadable,
        f"beyond the first {MOST_READ} codes": reading.beyond_limit,
        "not known to the model": reading.unknown,
        "on pages that were not sent": reading.not_sent,
    }
    of = f"more than {total}" if reading.uncounted_pages else f"{total}"
    parts = [f"Conditions used: {counts['used']} of {of}"]
    parts += [f"{what}: {number}" for what, number in left.items() if number]
    parts += ["there are further pages, which were not sent"] if reading.uncounted_pages else []
    parts += ["a query of the record system failed"] if reading.failed_queries else []
    return "; ".join(parts) + "."


def _suggestion(one: dict[str, Any], context: Context, names: dict[str, str]) -> dict[str, Any]:
    resource: dict[str, Any] = {
        "resourceType": "ServiceRequest",
        "status": "draft",
        "intent": "proposal",
        "code": {"coding": [coding(one["code"], one["title"])], "text": one["title"]},
        "subject": {"reference": f"Patient/{context.patientId}"},
    }
    if context.encounterId is not None:
        resource["encounter"] = {"reference": f"Encounter/{context.encounterId}"}
    if one["because"]:
        first = one["because"][0]["code"]
        resource["reasonCode"] = [{"coding": [coding(first, _title(first, names))]}]
    name = cut(_name(one), _LABEL)
    action = {"type": "create", "description": f"Draft: {name}", "resource": resource}
    return {"label": name, "uuid": str(uuid4()), "actions": [action]}


def _link(diagnoses: list[dict[str, Any]], root: str) -> str:
    """The page with these diagnoses; they come after the #, which browsers do not send to a server."""
    codes = ",".join(one["code"] for one in diagnoses[:_LINKED])
    return f"{root}/#dx={quote(codes, safe=':,')}"


def _name(one: dict[str, Any]) -> str:
    return f"{one['title']} ({dotted(one['code'])})"


def _title(code: str, names: dict[str, str]) -> str:
    return names.get(code) or title(code).text


def _plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    return "".join(f"\\{mark}" if mark in "\\`*_[]<>|#" else mark for mark in text)


def cut(text: str, length: int) -> str:
    """The text, shortened to at most so many characters."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"
