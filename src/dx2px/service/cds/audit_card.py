"""A CDS Hooks card for an encounter that has coded procedures: the strongest finding of its audit, at most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from dx2px.codes import dotted, title
from dx2px.service.cds.cards import cut, plain

SUMMARY = 139  # characters; the standard says fewer than 140
_WORDS = {
    "unsupported": "coded, but nothing else of the stay supports it",
    "omitted": "not coded, but expected from the rest of the stay",
    "swap": "usual here, but an alternative is coded: {other}",
    "companion": "not coded, but usual beside {other}",
    "diagnosis": "coded, but no diagnosis explains it",
}


def audit_card_of(findings: list[dict[str, Any]], root: str) -> dict[str, Any] | None:
    """The card of an audit, which is as `StayAudit.to_dict` has it; None if it found nothing."""
    if not findings:
        return None
    strongest = findings[0]
    return {
        "uuid": str(uuid4()),
        "summary": cut(f"Check: {_named(strongest['code'])} is {_words(strongest)}", SUMMARY),
        "indicator": "info",
        "detail": _detail(strongest),
        "source": {"label": "dx2px: coding habits in hospital data", "url": f"{root}/"},
    }


def _words(finding: Mapping[str, Any]) -> str:
    other = finding["other"]
    return _WORDS[finding["kind"]].format(other="" if other is None else _named(other))


def _detail(finding: Mapping[str, Any]) -> str:
    strength = f"At the assumed rates of mistakes, {finding['strength']:.0%} of such findings are mistakes."
    lines = [f"**{plain(_named(finding['code']))}** is {plain(_words(finding))}.", "", strength]
    if finding["suggested"]:
        usual = ", ".join(plain(_named(one["code"])) for one in finding["suggested"])
        lines += ["", f"Diagnoses that usually explain it: {usual}."]
    return "\n".join(
        [*lines, "", "*A finding is a reason to look, not proof of a mistake, and not medical advice.*"]
    )


def _named(code: str) -> str:
    return f"{title(code).text} ({dotted(code)})"
