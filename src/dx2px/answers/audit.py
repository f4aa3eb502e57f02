"""Audit of one coded stay: unsupported procedures (its diagnoses hardly explain them) and missing ones (expected).

It compares a stay with how stays like it were coded. A finding is a reason to look, not proof of a mistake.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Unpack

import numpy as np

from dx2px.answers.defects import AuditSettings
from dx2px.answers.facts import Facts
from dx2px.answers.flagging import Findings, Flagger, reasons
from dx2px.answers.model import Model, Support
from dx2px.answers.results import Reason
from dx2px.errors import InputError
from dx2px.ragged import Ragged

REASONS = 3  # diagnoses and other evidence named for a finding, at most
LEAST_SHARE = 0.005  # of a reason that is named, but for the first: what would be shown as 0 %


@dataclass(frozen=True)
class Finding:
    """A procedure to look at.

    Attributes:
        code: The procedure.
        title: Its title.
        probability: Of the procedure, given the diagnoses.
        rank: Its place among all procedures for these diagnoses.
        strength: The probability that it is a mistake (see `dx2px.answers.defects`).
        because: The diagnoses and other evidence that support it most.
    """

    code: str
    title: str
    probability: float
    rank: int
    strength: float
    because: tuple[Reason, ...]


@dataclass(frozen=True)
class StayAudit:
    """What an audit of one stay found, strongest first; `unknown` codes were left out of it."""

    id: str | None
    unsupported: tuple[Finding, ...]
    missing: tuple[Finding, ...]
    unknown: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "unsupported": [_record(one) for one in self.unsupported],
            "missing": [_record(one) for one in self.missing],
            "unknown": list(self.unknown),
        }


def audit_stay(
    model: Model,
    diagnoses: Sequence[str],
    procedures: Sequence[str],
    settings: AuditSettings | None = None,
    *,
    id: str | None = None,  # noqa: A002
    **facts: Unpack[Facts],
) -> StayAudit:
    """Audit one stay: which coded procedures are unsupported by the diagnoses, and which expected ones are missing.

    Args:
        model: A calibrated model.
        diagnoses: The stay's diagnoses, as people write them or canonical.
        procedures: The procedures coded for it.
        settings: How strong a finding must be, and how often coders are assumed to err.
        id: An id to carry into the result.
        facts: What else is known, as `Model.recommend` takes it, but for `coded`.

    Returns:
        The findings of both kinds, strongest first, and the codes that the model does not know. There are no
        findings if it knows none of the diagnoses.

    Raises:
        CodeError: A text may mean several codes.
        ModelError: The model is not calibrated.
    """
    flagger = Flagger(model, settings or AuditSettings())
    if facts.get("coded"):
        raise InputError("An audit takes the coded procedures as its procedures; leave `coded` out.")
    asked, about = model.asked(diagnoses, facts)
    coded = model.procedures.find_all(procedures)
    unknown = tuple(found.code for found in (*asked, *coded) if found.status == "unknown")
    used = [found for found in asked if found.status != "unknown"]
    if not used:
        return StayAudit(id, (), (), unknown)
    rows, scorer, _ = model.rows_of(used, about)
    written = Ragged.from_lists([[found.index for found in coded if found.index is not None]])
    found = flagger.flag(scorer, rows, written)
    shares = reasons(scorer, rows, found).reshape(len(found), len(rows.values))
    supports = [model.support(scorer, rows.values, row) for row in shares]
    codes = [one.code for one in used]
    findings = [_finding(model, found, place, codes, support) for place, support in enumerate(supports)]
    unsupported = int((~found.missing).sum())  # these come first
    return StayAudit(id, tuple(findings[:unsupported]), tuple(findings[unsupported:]), unknown)


def strongest_reasons(codes: Sequence[str], support: Support) -> tuple[Reason, ...]:
    """The diagnoses and other evidence with the largest shares, at most `REASONS`, and none of next to nothing."""
    names = [*codes, *support.further]
    first, *others = np.argsort(-support.shares, kind="stable")[:REASONS].tolist()
    shown = [first, *(place for place in others if support.shares[place] >= LEAST_SHARE)]
    return tuple(Reason(names[place], float(support.shares[place])) for place in shown)


def _finding(model: Model, found: Findings, place: int, codes: Sequence[str], support: Support) -> Finding:
    procedure = model.procedures.at(int(found.procedure[place]))
    return Finding(
        procedure.code,
        procedure.title,
        float(found.probability[place]),
        int(found.rank[place]),
        float(found.strength[place]),
        strongest_reasons(codes, support),
    )


def _record(finding: Finding) -> dict[str, Any]:
    return {**asdict(finding), "because": [asdict(reason) for reason in finding.because]}
