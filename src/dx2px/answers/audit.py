"""Audit of one coded stay: what is unsupported, what is expected but absent, and where a diagnosis may be missing.

It compares a stay with how stays like it were coded. A finding is a reason to look, not proof of a mistake.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Unpack

import numpy as np

from dx2px.answers.coded_as import CodedAs
from dx2px.answers.defects import ABSENT, KINDS, AuditSettings, Kind
from dx2px.answers.facts import Facts
from dx2px.answers.flagging import NOBODY, Flagged, Flagger
from dx2px.answers.given import given_codes
from dx2px.answers.mapping import Translation, of_other_version, rewritten
from dx2px.answers.model import Model, Support, check_model
from dx2px.answers.question import asked_of
from dx2px.answers.result_frames import finding_columns
from dx2px.answers.results import NAMED, Mapped, Reason
from dx2px.answers.stay import merged
from dx2px.codes import counts_as, is_family, shown_code
from dx2px.errors import InputError
from dx2px.frames import as_frame
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


@dataclass(frozen=True, repr=False)
class StayAudit:
    """What an audit of one stay found, strongest first; `unknown` codes were left out of it.

    `mapping` says how diagnoses of another ICD version were read. `audited` is False if the procedures are of another
    version than the model's: it knows none of them, and everything that is usual would look omitted.
    """

    id: str | None
    findings: tuple[Finding, ...]
    unknown: tuple[str, ...]
    mapping: tuple[Mapped, ...] = ()
    audited: bool = True

    def __repr__(self) -> str:
        """The first findings, in one line."""
        first = (f"{one.kind} {shown_code(one.code)} {one.strength:.0%}" for one in self.findings[:NAMED])
        more = ", …" if len(self.findings) > NAMED else ""
        return f"StayAudit({', '.join(first) or 'nothing found'}{more})"

    def to_frame(self) -> Any:
        """A data frame of pandas or polars: one row per finding."""
        return as_frame(finding_columns(self.findings))

    def of_kind(self, kind: Kind) -> tuple[Finding, ...]:
        """The findings of one kind, strongest first."""
        return tuple(finding for finding in self.findings if finding.kind == kind)

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "findings": [_record(finding) for finding in self.findings],
            "unknown": list(self.unknown),
            **({"mapping": [one.to_dict() for one in self.mapping]} if self.mapping else {}),
            **({} if self.audited else {"audited": False}),
        }


def audit_stay(
    model: Model,
    diagnoses: Sequence[str],
    procedures: Sequence[str],
    settings: AuditSettings | None = None,
    *,
    id: str | None = None,  # noqa: A002
    map: bool = True,  # noqa: A002
    **facts: Unpack[Facts],
) -> StayAudit:
    """Audit one stay: question each procedure, coded or absent, given the rest of the stay.

    Args:
        model: A calibrated model.
        diagnoses: The stay's diagnoses, as people write them or canonical.
        procedures: The procedures coded for it.
        settings: How strong a finding must be, how often coders are assumed to err, and which kinds are wanted.
        id: An id to carry into the result.
        map: Translate diagnoses of the other ICD version by the public maps; False refuses them.
        facts: What else is known, as `Model.recommend` takes it, but for `coded`.

    Returns:
        The findings, strongest first, and the codes that the model does not know. There are no findings if it knows
        none of the diagnoses. Diagnoses are named as they were coded, procedures as the model knows them: a code of a
        family as its family.

    Raises:
        CodeError: A text may mean several codes.
        OtherVersionError: `map` is False, and a diagnosis is of an ICD version that the model does not know.
        ModelError: The model is not calibrated.
    """
    check_model(model)
    flagger = Flagger(model, settings or AuditSettings())
    if facts.get("coded"):
        raise InputError("An audit takes the coded procedures as its procedures; leave `coded` out.")
    diagnoses = given_codes(diagnoses, "diagnoses")
    procedures = given_codes(procedures, "procedures")
    asked, mapping, about = asked_of(model, diagnoses, map, facts)
    coded = model.procedures.find_all(procedures)
    unknown = tuple(found.code for found in (*asked, *coded) if found.status == "unknown")
    used = [found for found in asked if found.status != "unknown"]
    known = [found.index for found in coded if found.index is not None]
    audited = bool(known) or not any(of_other_version(found.code, model.procedures) for found in coded)
    if not used or not audited:
        return StayAudit(id, (), unknown, mapping, audited)
    rows, scorer, _ = model.rows_of(used, about)
    flagged = flagger.flag(scorer, rows, Ragged.from_lists([known]))
    if model.procedures.has_families:
        written = [model.procedures.written(text) for text in procedures]
        flagged = without_held(model, flagged, [written] * len(flagged.found))
    names = _coded_as(model, diagnoses, facts.get("principal"))
    codes = {0: {found.code: names[found.code] for found in used}}
    return StayAudit(id, tuple(told(flagger, flagged, codes)), unknown, mapping)


def _coded_as(model: Model, diagnoses: Sequence[str], principal: str | None) -> dict[str, str]:
    """What the codes that the model uses for a stay were coded as."""
    naming = CodedAs(model.diagnoses, Translation(model.diagnoses, model.files.diagnosis_counts))
    return naming.used([*diagnoses, *([principal] if principal else [])])


def without_held(model: Model, flagged: Flagged, coded: Sequence[Sequence[str]]) -> Flagged:
    """Without absent families that hold a procedure of the stay, which counts as another family that holds it.

    `coded` are the canonical procedures of each finding's stay.
    """
    absent = [KINDS[kind] in ABSENT for kind in flagged.found.kind.tolist()]
    families = (model.files.procedures[place] for place in flagged.found.procedure.tolist())
    held = [
        missing and is_family(family) and any(counts_as(one, family) for one in codes)
        for missing, family, codes in zip(absent, families, coded, strict=True)
    ]
    return flagged.take(~np.array(held, np.bool_))


def told(flagger: Flagger, flagged: Flagged, codes: Mapping[int, Mapping[str, str]]) -> Iterator[Finding]:
    """The findings as users get them.

    `codes` are the usable diagnoses of each stay, in the order of its rows, each with what it was coded as.
    """
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
            strongest_reasons(list(own.values()), support),
            _suggested(flagger.suggester.suggested(procedure, own), own) if missing[place] else (),
        )


def strongest_reasons(codes: Sequence[str], support: Support) -> tuple[Reason, ...]:
    """The diagnoses and other evidence with the largest shares, at most `REASONS`, and none of next to nothing.

    A diagnosis that several replaced has their shares together.
    """
    place = {name: at for at, name in enumerate(dict.fromkeys([*codes, *support.further]))}
    shares = merged(support.shares, np.array([place[name] for name in (*codes, *support.further)]))
    names = list(place)
    first, *others = np.argsort(-shares, kind="stable")[:REASONS].tolist()
    shown = [first, *(at for at in others if shares[at] >= LEAST_SHARE)]
    return tuple(Reason(names[at], float(shares[at])) for at in shown)


def _suggested(usual: Sequence[Reason], own: Mapping[str, str]) -> tuple[Reason, ...]:
    """The diagnoses that would explain a procedure, in the ICD version that the stay is coded in."""
    if all(code == coded for code, coded in own.items()):
        return tuple(usual)
    shares: dict[str, float] = {}
    for one in usual:
        code = rewritten(one.code)
        shares[code] = shares.get(code, 0.0) + one.share
    return tuple(Reason(code, share) for code, share in shares.items() if code not in own.values())


def _record(finding: Finding) -> dict[str, Any]:
    reasons = {name: [one.to_dict() for one in getattr(finding, name)] for name in ("because", "suggested")}
    return asdict(finding) | reasons
