"""Audit of one coded stay: what is unsupported, what is expected but absent, and where a diagnosis may be missing.

It compares a stay with how stays like it were coded. A finding is a reason to look, not proof of a mistake.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Unpack

import numpy as np

from dx2px.answers.defects import KINDS, AuditSettings, Kind
from dx2px.answers.facts import Facts
from dx2px.answers.flagging import NOBODY, Flagged, Flagger
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
        kind: What may be wrong; see `dx2px.answers.defects`.
        code: The procedure.
        title: Its title.
        other: Of a swap, the coded alternative; of a companion, the coded procedure that it goes with.
        strength: The probability that it is a mistake.
        probability: Of the procedure, given the rest of the stay.
        rank: Its place among all procedures that are not coded besides it.
        because: The diagnoses and other evidence that support it most.
        suggested: If a diagnosis may be missing: those that usually explain the procedure.
    """

    kind: Kind
    code: str
    title: str
    other: str | None
    strength: float
    probability: float
    rank: int
    because: tuple[Reason, ...]
    suggested: tuple[Reason, ...] = ()


@dataclass(frozen=True)
class StayAudit:
    """What an audit of one stay found, strongest first; `unknown` codes were left out of it."""

    id: str | None
    findings: tuple[Finding, ...]
    unknown: tuple[str, ...]

    def of_kind(self, kind: Kind) -> tuple[Finding, ...]:
        """The findings of one kind, strongest first."""
        return tuple(finding for finding in self.findings if finding.kind == kind)

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "findings": [_record(finding) for finding in self.findings],
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
    """Audit one stay: question each procedure, coded or absent, given the rest of the stay.

    Args:
        model: A calibrated model.
        diagnoses: The stay's diagnoses, as people write them or canonical.
        procedures: The procedures coded for it.
        settings: How strong a finding must be, how often coders are assumed to err, and which kinds are wanted.
        id: An id to carry into the result.
        facts: What else is known, as `Model.recommend` takes it, but for `coded`.

    Returns:
        The findings, strongest first, and the codes that the model does not know. There are no findings if it knows
        none of the diagnoses.

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
        return StayAudit(id, (), unknown)
    rows, scorer, _ = model.rows_of(used, about)
    written = Ragged.from_lists([[found.index for found in coded if found.index is not None]])
    flagged = flagger.flag(scorer, rows, written)
    return StayAudit(id, tuple(told(flagger, flagged, {0: [one.code for one in used]})), unknown)


def told(flagger: Flagger, flagged: Flagged, codes: Mapping[int, Sequence[str]]) -> Iterator[Finding]:
    """The findings as users get them; `codes` are the usable diagnoses of each stay, in the order of its rows."""
    model, found, questions = flagger.model, flagged.found, flagged.questions
    rows, missing = flagged.rows, found.is_kind("diagnosis").tolist()
    for place, stay in enumerate(found.stay.tolist()):
        own, procedure = codes[stay], int(found.procedure[place])
        stretch = slice(rows.offsets[place], rows.offsets[place + 1])
        support = model.support(questions.scorer, rows[place], flagged.shares[stretch])
        named = model.procedures.at(procedure)
        other = int(found.other[place])
        yield Finding(
            KINDS[found.kind[place]],
            named.code,
            named.title,
            None if other == NOBODY else model.files.procedures[other],
            float(found.strength[place]),
            float(found.probability[place]),
            int(flagged.rank[place]),
            strongest_reasons(own, support),
            flagger.suggester.suggested(procedure, own) if missing[place] else (),
        )


def strongest_reasons(codes: Sequence[str], support: Support) -> tuple[Reason, ...]:
    """The diagnoses and other evidence with the largest shares, at most `REASONS`, and none of next to nothing."""
    names = [*codes, *support.further]
    first, *others = np.argsort(-support.shares, kind="stable")[:REASONS].tolist()
    shown = [first, *(place for place in others if support.shares[place] >= LEAST_SHARE)]
    return tuple(Reason(names[place], float(support.shares[place])) for place in shown)


def _record(finding: Finding) -> dict[str, Any]:
    reasons = {name: [asdict(one) for one in getattr(finding, name)] for name in ("because", "suggested")}
    return asdict(finding) | reasons
