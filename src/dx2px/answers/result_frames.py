"""Answers as columns, for data frames: one row per procedure, per pair of a plan, per neighbour or finding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dx2px.answers.audit import Finding
    from dx2px.answers.results import Answer, Neighbors

Columns = Mapping[str, list[Any]]


def procedure_columns(answer: Answer) -> Columns:
    """One row per procedure, with the reason that has the largest share in it."""
    rows, titles = answer.procedures, _titles(answer)
    main = [one.because[0] if one.because else None for one in rows]
    return {
        "rank": [one.rank for one in rows],
        "code": [one.code for one in rows],
        "title": [one.title for one in rows],
        "probability": [one.probability for one in rows],
        "score": [one.score for one in rows],
        "reason": [reason and reason.code for reason in main],
        "reason_title": [reason and titles[reason.code] for reason in main],
        "reason_share": [reason and reason.share for reason in main],
        "rests_on": [one.rests_on for one in rows],
    }


def plan_columns(answer: Answer) -> Columns:
    """One row per procedure and per diagnosis or other evidence, with the mass between the two and its share."""
    plan, titles = answer.plan, _titles(answer)
    rows = (*plan.diagnoses, *plan.evidence) if plan.mass is not None else ()
    pairs = [(procedure, row) for procedure in plan.procedures for row in rows]
    names = {one.code: one.title for one in answer.procedures}
    return {
        "procedure": [procedure for procedure, _ in pairs],
        "procedure_title": [names[procedure] for procedure, _ in pairs],
        "because": [row for _, row in pairs],
        "because_title": [titles[row] for _, row in pairs],
        "mass": [] if plan.mass is None else plan.mass.T.ravel().tolist(),
        "share": [] if plan.mass is None else plan.shares.T.ravel().tolist(),
    }


def neighbor_columns(found: Neighbors) -> Columns:
    """One row per neighbour, diagnoses first."""
    near = [("diagnosis", one) for one in found.diagnoses] + [("procedure", one) for one in found.procedures]
    return {
        "kind": [kind for kind, _ in near],
        "code": [one.code for _, one in near],
        "title": [one.title for _, one in near],
        "similarity": [one.similarity for _, one in near],
    }


def finding_columns(findings: Sequence[Finding]) -> Columns:
    """One row per finding of an audit, with its strongest reason."""
    names = ("kind", "code", "title", "other", "strength", "probability", "rank")
    columns = {name: [getattr(one, name) for one in findings] for name in names}
    columns["reason"] = [one.because[0].code if one.because else None for one in findings]
    columns["reason_share"] = [one.because[0].share if one.because else None for one in findings]
    columns["suggested"] = [[reason.code for reason in one.suggested] for one in findings]
    return columns


def _titles(answer: Answer) -> dict[str, str]:
    titles = {one.code: one.title for one in answer.diagnoses}
    return titles | {one.code: one.title for one in answer.evidence}
