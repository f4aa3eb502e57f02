"""What the worklist's page shows, as data for its script. Codes are numbered, so that each title is there once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from dx2px.answers.audit_file import FORMULA, FileAudit
from dx2px.codes import Notation, title
from dx2px.errors import CodeError
from dx2px.report.audit_words import WORDS
from dx2px.report.embedding.families import group as family
from dx2px.report.embedding.families import heading
from dx2px.scoring.evidence import context_title

NO_ID = "no id"


def page_data(audit: FileAudit, listed: int) -> dict[str, Any]:
    """The strongest findings with their stays, the groups they belong to, and the words for all of it."""
    found = audit.findings.slice(0, listed).to_pylist()
    codes = _Codes()
    places = {(one["kind"], one["code"]) for one in found}
    groups = [group for group in audit.groups() if (group.kind, group.code) in places]
    place_of = {(group.kind, group.code): place for place, group in enumerate(groups)}
    data: dict[str, Any] = {
        "findings": [_finding(one, place_of[one["kind"], one["code"]], codes) for one in found],
        "groups": [
            {
                "kind": group.kind,
                "code": codes.place(group.code),
                "stays": group.stays,
                "probability": _rounded(group.probability),
                "chapter": family(heading(group.code)).name,
            }
            for group in groups
        ],
        "codes": codes.table(),
        "kinds": {kind: asdict(words) for kind, words in WORDS.items()},
        "drg": _drg_version(found),
        "formula": FORMULA,
    }
    # Names the page in the browser's storage; nobody who sees it there can work back to an id.
    content = json.dumps(data, sort_keys=True).encode()
    return data | {"fingerprint": hashlib.sha256(content).hexdigest()[:24]}


class _Codes:
    """The codes of a page, numbered in the order in which they are first met."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, code: str) -> int:
        return self._places.setdefault(code, len(self._places))

    def places(self, codes: Iterable[str]) -> list[int]:
        return [self.place(code) for code in codes]

    def shares(self, reasons: Iterable[Mapping[str, Any]]) -> list[tuple[int, float]]:
        return [(self.place(one["code"]), _rounded(one["share"])) for one in reasons]

    def table(self) -> list[tuple[str, str, str]]:
        """Canonical code, code as people read it, title; what has no code, such as an age, has only a title."""
        notation = Notation.of(self._places)
        return [_named(code, notation) for code in self._places]


def _named(code: str, notation: Notation) -> tuple[str, str, str]:
    try:
        return code, notation.write(code), title(code).text
    except CodeError:
        return code, "", context_title(code)


def _finding(one: Mapping[str, Any], group: int, codes: _Codes) -> dict[str, Any]:
    drg = one.get("drg_coded")
    return {
        "stay": NO_ID if one["stay_id"] is None else str(one["stay_id"]),
        "kind": one["kind"],
        "group": group,
        "code": codes.place(one["code"]),
        "other": None if one["other"] is None else codes.place(one["other"]),
        "strength": _rounded(one["strength"]),
        "probability": _rounded(one["probability"]),
        "rank": one["rank"],
        "because": codes.shares(one["because"]),
        "suggested": codes.shares(one["suggested"]),
        "diagnoses": codes.places(one["diagnoses"]),
        "procedures": codes.places(one["procedures"]),
        "drg": None if drg is None else [drg, one["drg_changed"]],
    }


def _drg_version(found: Iterable[Mapping[str, Any]]) -> str | None:
    return next((f"MS-DRG {one['drg_version']}" for one in found if one.get("drg_version")), None)


def _rounded(number: float) -> float:
    return float(f"{number:.6g}")
