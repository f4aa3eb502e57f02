"""What a model answers: frozen objects, each with the dictionary that `--json` prints.

`probability` is calibrated on stays that the model did not learn from: of procedures given 0.3, three in ten were
coded. It holds for stays like those, and says what is coded, not what is needed. Models made before there was a
calibration have none: they only rank.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any, Literal

from dx2px.inference.plans import Plan

Status = Literal["known", "backed-off", "unknown"]
SCOPE = (
    "The answers reproduce how the hospital stays in the model's data were coded, for billing, after the stay. "
    "They are no medical advice."
)
EXPLANATION = "dx2px-explanation/1"  # the form that `explanation.schema.json` describes


def shown_probability(value: float | None) -> str:
    """A probability as a reader sees it: per cent, as far as it means something."""
    if value is None:
        return "–"
    return f"{value:.1%}" if value >= 0.001 else "< 0.1%"


@dataclass(frozen=True)
class StandIn:
    """What stood in for a code that the model has not seen: the mean of its known codes under a heading."""

    code: str  # of the heading
    title: str
    codes: int


@dataclass(frozen=True)
class Mapped:
    """A diagnosis of the other version of ICD, and the codes that were put in its place."""

    code: str
    to: tuple[str, ...]  # none where the other version has nothing like it
    exact: bool
    listed: bool  # whether the map has the code at all

    def to_dict(self) -> dict[str, Any]:
        kind = "exact" if self.exact else "approximate"
        return {
            "from": self.code,
            "to": list(self.to),
            "kind": kind if self.to else "no-map" if self.listed else "not-listed",
        }


@dataclass(frozen=True)
class Coverage:
    """A set made to hold, on average over stays, `target` of a stay's procedures: those at least this probable."""

    target: float
    set_size: int
    threshold: float


@dataclass(frozen=True)
class Diagnosis:
    """A diagnosis that was asked about; one that the model can make nothing of has significance 0."""

    code: str
    title: str
    significance: float
    status: Status
    stand_in: StandIn | None = None  # of a backed-off one
    mapped_from: tuple[str, ...] = ()  # codes of the other version of ICD that it was put in the place of

    def to_dict(self) -> dict[str, Any]:
        record = dict(vars(self))
        del record["stand_in"], record["mapped_from"]
        if self.stand_in is not None:
            record["stand_in"] = dict(vars(self.stand_in))
        if self.mapped_from:
            record["mapped_from"] = list(self.mapped_from)
        return record


@dataclass(frozen=True)
class Reason:
    """A diagnosis's share in a procedure: of the procedure's mass in the model's plan, whose kind says what mass is."""

    code: str
    share: float


@dataclass(frozen=True)
class Recommended:
    """A procedure with its place in the ranking, its probability and the diagnoses it comes from."""

    rank: int
    code: str
    title: str
    probability: float | None  # None where the model has no calibration
    because: tuple[Reason, ...]  # largest share first; shares sum to 1


@dataclass(frozen=True, eq=False)
class Recommendation:
    """Procedures for a set of diagnoses, best first; `plan` is what their reasons are shares of."""

    diagnoses: tuple[Diagnosis, ...]
    recommendations: tuple[Recommended, ...]
    plan: Plan
    coverage: Coverage | None = None  # where a set was asked for
    mapping: tuple[Mapped, ...] | None = None  # where mapping was asked for

    def to_dict(self) -> dict[str, Any]:
        record: dict[str, Any] = {
            "diagnoses": [diagnosis.to_dict() for diagnosis in self.diagnoses],
            "recommendations": [
                {**vars(one), "because": _reasons(one.because)} for one in self.recommendations
            ],
        }
        if self.coverage is not None:
            record["coverage"] = asdict(self.coverage)
        return record | _mapping(self.mapping)


@dataclass(frozen=True)
class Procedure:
    """A procedure that is explained; one that the model does not know has no numbers and no column in the plan."""

    code: str
    title: str
    status: Status
    probability: float | None = None  # None also where the model has no calibration
    score: float | None = None  # what it is ranked by; its unit is the method's
    rank: int | None = None  # among all procedures of the model
    because: tuple[Reason, ...] = ()  # largest share first; shares sum to 1

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "because": _reasons(self.because)}


@dataclass(frozen=True)
class Source:
    """The model behind an explanation."""

    method: str
    version: str  # of the dx2px that made it
    fingerprint: str  # of all that its answers depend on


@dataclass(frozen=True, eq=False)
class Explanation:
    """What diagnoses lead to which procedures: one document, the same from Python, the command line and HTTP.

    Rows of the plan are the known and backed-off diagnoses, its columns the known procedures, both in the order listed.
    """

    source: Source
    diagnoses: tuple[Diagnosis, ...]
    procedures: tuple[Procedure, ...]
    plan: Plan
    mapping: tuple[Mapped, ...] | None = None  # where mapping was asked for

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": EXPLANATION,
            "scope": SCOPE,
            "model": asdict(self.source),
            "diagnoses": [diagnosis.to_dict() for diagnosis in self.diagnoses],
            "procedures": [procedure.to_dict() for procedure in self.procedures],
            "plan": self.plan.to_dict(),
            **_mapping(self.mapping),
        }


def explanation_schema() -> dict[str, Any]:
    """The JSON Schema of `Explanation.to_dict`."""
    schema: dict[str, Any] = json.loads((files("dx2px.inference") / "explanation.schema.json").read_bytes())
    return schema


def _reasons(because: tuple[Reason, ...]) -> list[dict[str, Any]]:
    return [dict(vars(reason)) for reason in because]


def _mapping(mapping: tuple[Mapped, ...] | None) -> dict[str, Any]:
    return {} if mapping is None else {"mapping": [one.to_dict() for one in mapping]}


@dataclass(frozen=True)
class Neighbor:
    """A code near another one; similarity is the cosine of their vectors."""

    code: str
    title: str
    similarity: float


@dataclass(frozen=True)
class Neighbors:
    """The diagnoses and the procedures nearest to a code, nearest first; the code itself is left out."""

    code: str
    title: str
    diagnoses: tuple[Neighbor, ...]
    procedures: tuple[Neighbor, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "title": self.title,
            "diagnoses": [asdict(neighbor) for neighbor in self.diagnoses],
            "procedures": [asdict(neighbor) for neighbor in self.procedures],
        }
