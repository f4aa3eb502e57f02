"""What a model answers: frozen objects, each with the dictionary that `--json` prints.

`probability` is calibrated on stays that the model did not learn from: of procedures given 0.3, three in ten were
coded. It holds for stays like those, and says what is coded, not what is needed. Models made before there was a
calibration have none: they only rank.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from dx2px.inference.transport import Transport

Status = Literal["known", "backed-off", "unknown"]


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

    def to_dict(self) -> dict[str, Any]:
        record = dict(vars(self))
        if self.stand_in is None:
            del record["stand_in"]
        else:
            record["stand_in"] = dict(vars(self.stand_in))
        return record


@dataclass(frozen=True)
class Reason:
    """A diagnosis's share in a recommended procedure.

    With vectors: of the procedure's mass in the transport plan. Without: of the falls of its score when one diagnosis
    after another is left out.
    """

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
    """Procedures for a set of diagnoses, best first; `transport` is the plan behind the reasons, where there is one."""

    diagnoses: tuple[Diagnosis, ...]
    recommendations: tuple[Recommended, ...]
    transport: Transport | None
    coverage: Coverage | None = None  # where a set was asked for
    mapping: tuple[Mapped, ...] | None = None  # where mapping was asked for

    def to_dict(self) -> dict[str, Any]:
        record: dict[str, Any] = {
            "diagnoses": [diagnosis.to_dict() for diagnosis in self.diagnoses],
            "recommendations": [
                {**vars(one), "because": [dict(vars(reason)) for reason in one.because]}
                for one in self.recommendations
            ],
        }
        if self.coverage is not None:
            record["coverage"] = asdict(self.coverage)
        return record | _mapping(self.mapping)


@dataclass(frozen=True)
class Procedure:
    """A procedure that is explained; one that the model does not know has no probability and no column in the plan."""

    code: str
    title: str
    probability: float | None
    status: Status


@dataclass(frozen=True, eq=False)
class Explanation:
    """How the significance of the diagnoses flows to the procedures.

    Rows of the plan are the known and backed-off diagnoses, its columns the known procedures, both in the order listed.
    """

    diagnoses: tuple[Diagnosis, ...]
    procedures: tuple[Procedure, ...]
    transport: Transport
    mapping: tuple[Mapped, ...] | None = None  # where mapping was asked for

    def to_dict(self) -> dict[str, Any]:
        return {
            "diagnoses": [diagnosis.to_dict() for diagnosis in self.diagnoses],
            "procedures": [dict(vars(procedure)) for procedure in self.procedures],
            "plan": {
                "diagnoses": [one.code for one in self.diagnoses if one.status != "unknown"],
                "procedures": [one.code for one in self.procedures if one.status == "known"],
                "mass": self.transport.plan.tolist(),
                "cost": self.transport.cost,
                "marginal_error": self.transport.marginal_error,
                "gap": self.transport.gap,
                "iterations": self.transport.iterations,
                "converged": self.transport.converged,
            },
            **_mapping(self.mapping),
        }


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
