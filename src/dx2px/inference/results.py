"""What a model answers: frozen objects, each with the dictionary that `--json` prints.

`probability` is sigmoid(v_p·f), eq 1. It is learned against as many drawn negatives as there are recorded
procedures, so it ranks procedures but is not calibrated: 0.9 does not mean nine stays in ten.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from dx2px.inference.transport import Transport

Status = Literal["known", "unknown"]


@dataclass(frozen=True)
class Diagnosis:
    """A diagnosis that was asked about; one that the model does not know has significance 0."""

    code: str
    title: str
    significance: float
    status: Status


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
    """A procedure with its place in the ranking, its uncalibrated score and the diagnoses it comes from."""

    rank: int
    code: str
    title: str
    probability: float | None  # None where the method's score only ranks
    because: tuple[Reason, ...]  # largest share first; shares sum to 1


@dataclass(frozen=True, eq=False)
class Recommendation:
    """Procedures for a set of diagnoses, best first; `transport` is the plan behind the reasons, where there is one."""

    diagnoses: tuple[Diagnosis, ...]
    recommendations: tuple[Recommended, ...]
    transport: Transport | None

    def to_dict(self) -> dict[str, Any]:
        return {
            "diagnoses": [asdict(diagnosis) for diagnosis in self.diagnoses],
            "recommendations": [
                {**asdict(one), "because": [asdict(reason) for reason in one.because]}
                for one in self.recommendations
            ],
        }


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

    Rows of the plan are the known diagnoses, its columns the known procedures, both in the order listed.
    """

    diagnoses: tuple[Diagnosis, ...]
    procedures: tuple[Procedure, ...]
    transport: Transport

    def to_dict(self) -> dict[str, Any]:
        return {
            "diagnoses": [asdict(diagnosis) for diagnosis in self.diagnoses],
            "procedures": [asdict(procedure) for procedure in self.procedures],
            "plan": {
                "diagnoses": [one.code for one in self.diagnoses if one.status == "known"],
                "procedures": [one.code for one in self.procedures if one.status == "known"],
                "mass": self.transport.plan.tolist(),
                "cost": self.transport.cost,
                "marginal_error": self.transport.marginal_error,
                "gap": self.transport.gap,
                "iterations": self.transport.iterations,
                "converged": self.transport.converged,
            },
        }


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
