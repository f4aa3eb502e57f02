"""Turns a recommendation into a CDS Hooks card, with one suggestion per procedure."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote
from uuid import uuid4

from dx2px.answers.facts import Facts
from dx2px.codes import dotted
from dx2px.service.cds.fhir import MOST_READ, Reading, coding
from dx2px.service.cds.messages import Context

HABITS = "This reflects how similar stays were coded, for billing, after the stay. It is not medical advice."
_SUMMARY = 139  # characters; the standard says fewer than 140
_LABEL = 100
_REASONS, _REASON_FROM = 3, 0.05
_LINKED = 100  # codes in the link to the page


def card_of(
    recommended: list[dict[str, Any]],
    answer: dict[str, Any],
    facts: Facts,
    reading: Reading,
    context: Context,
    root: str,
) -> dict[str, Any]:
    """The card for recommended procedures of an answer, which is as `Recommendation.to_dict` has it."""
    used = _used(answer)
    codes = {one["code"]: one["title"] for one in used}
    return {
        "uuid": str(uuid4()),
        "summary": _summary(recommended, len(used)),
        "indicator": "info",
        "detail": _detail(recommended, answer, reading),
        "source": {"label": "dx2px: coding habits in hospital data", "url": f"{root}/"},
        "links": [{"label": "Show all reasons", "url": _link(used, facts, root), "type": "absolute"}],
        "suggestions": [_suggestion(one, context, codes) for one in recommended],
        "selectionBehavior": "any",
    }


def _summary(recommended: list[dict[str, Any]], diagnoses: int) -> str:
    start = f"Often coded with {'this diagnosis' if diagnoses == 1 else f'these {diagnoses} diagnoses'}: "
    return cut(start + "; ".join(_name(one) for one in recommended), _SUMMARY)


def _detail(recommended: list[dict[str, Any]], answer: dict[str, Any], reading: Reading) -> str:
    names = _names(answer)
    lines = [f"{place}. {_line(one, names)}" for place, one in enumerate(recommended, start=1)]
    besides = _taken_into_account(answer)
    return "\n".join([*lines, "", *([besides, ""] if besides else []), _read(reading), "", f"*{HABITS}*"])


def _names(answer: dict[str, Any]) -> dict[str, list[str]]:
    """What reasons are called: a title, and the code where it is one; an age or a type of admission has none."""
    evidence = [one for one in answer.get("evidence", ()) if one["status"] == "known"]
    coded = [one for one in evidence if one["kind"] == "coded"]
    return {one["code"]: [plain(one["title"])] for one in evidence} | {
        one["code"]: [plain(one["title"]), dotted(one["code"])] for one in (*_used(answer), *coded)
    }


def _used(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in answer["diagnoses"] if one["status"] != "unknown"]


def _taken_into_account(answer: dict[str, Any]) -> str:
    """What else the model knew, in words; nothing if that was only what every stay has."""
    known = [one for one in answer.get("evidence", []) if one["status"] == "known"]
    parts = [one["title"] for one in known if one["kind"] in ("person", "admission")]
    parts += [
        f"principal diagnosis {plain(one['title'])} ({dotted(one['code'])})"
        for one in _used(answer)
        if one.get("principal")
    ]
    parts += [
        "a principal diagnosis that the model does not know" for one in known if one["kind"] == "principal"
    ]
    coded = sum(one["kind"] == "coded" for one in known)
    parts += [f"{coded} procedure{'' if coded == 1 else 's'} already coded"] if coded else []
    return f"Also taken into account: {'; '.join(parts)}." if parts else ""


def _line(one: dict[str, Any], names: dict[str, list[str]]) -> str:
    reasons = [reason for reason in one["because"][:_REASONS] if reason["share"] >= _REASON_FROM]
    because = ", ".join(_reason(*names[reason["code"]], f"{reason['share']:.0%}") for reason in reasons)
    chance = "" if one["probability"] is None else f", coded in {one['probability']:.0%} of such stays"
    return f"**{plain(one['title'])}** ({dotted(one['code'])}{chance})" + (f": {because}" if because else "")


def _reason(name: str, *details: str) -> str:
    return f"{name} ({', '.join(details)})"


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


def _suggestion(one: dict[str, Any], context: Context, diagnoses: dict[str, str]) -> dict[str, Any]:
    resource: dict[str, Any] = {
        "resourceType": "ServiceRequest",
        "status": "draft",
        "intent": "proposal",
        "code": _concept(one),
        "subject": {"reference": f"Patient/{context.patientId}"},
    }
    if context.encounterId is not None:
        resource["encounter"] = {"reference": f"Encounter/{context.encounterId}"}
    reasons = [reason["code"] for reason in one["because"] if reason["code"] in diagnoses]
    if reasons:
        resource["reasonCode"] = [{"coding": [coding(reasons[0], diagnoses[reasons[0]])]}]
    name = cut(_name(one), _LABEL)
    action = {"type": "create", "description": f"Draft: {name}", "resource": resource}
    return {"label": name, "uuid": str(uuid4()), "actions": [action]}


def _concept(one: dict[str, Any]) -> dict[str, Any]:
    """A procedure as FHIR has it: a family of codes is no code, so it goes into the text."""
    if "family" not in one:
        return {"coding": [coding(one["code"], one["title"])], "text": one["title"]}
    family = one["family"]
    code = dotted(family.get("narrowed") or one["code"])
    return {"text": f"{one['title']} (ICD-10-PCS {code}, complete by {', '.join(family['complete_by'])})"}


def _entered(one: dict[str, Any]) -> list[str]:
    """A diagnosis as it was sent, if it was translated."""
    sent: list[str] = one.get("mapped_from") or [one["code"]]
    return sent


def _link(diagnoses: list[dict[str, Any]], facts: Facts, root: str) -> str:
    """The page with the same stay; what is known of it comes after the #, which browsers do not send to a server."""
    parts = {
        "dx": ",".join(list(dict.fromkeys(code for one in diagnoses for code in _entered(one)))[:_LINKED]),
        "pdx": next((_entered(one)[0] for one in diagnoses if one.get("principal")), ""),
        "age": "" if facts.get("age") is None else str(facts["age"]),
        "sex": facts.get("sex") or "",
        "yes": ",".join((facts.get("coded") or ())[:_LINKED]),
    }
    return f"{root}/#" + "&".join(f"{name}={quote(text, safe=':,')}" for name, text in parts.items() if text)


def _name(one: dict[str, Any]) -> str:
    return f"{one['title']} ({dotted(one['code'])})"


def plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    return "".join(f"\\{mark}" if mark in "\\`*_[]<>|#" else mark for mark in text)


def cut(text: str, length: int) -> str:
    """The text, shortened to at most so many characters."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"
