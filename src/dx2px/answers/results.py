"""What a model answers: frozen objects, each with the dictionary that `--json` prints.

A question about a stay has one kind of answer, `Answer`: the stay's diagnoses, some procedures, and the plan between
them. `Explanation` and `Recommendation` are that answer printed in full and in brief.

`probability` is calibrated on stays that the model did not learn from: of the procedures given 0.3, three in ten were
coded. It holds for stays like those, and says what is coded, not what is needed. Models saved without a calibration
have no probabilities: they only rank.
"""

from __future__ import annotations

import json
from collections.abc import Set
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from typing import Any, Literal, NamedTuple, Self, get_args

from dx2px.answers.families import Family
from dx2px.answers.remarks import Remark
from dx2px.answers.result_frames import neighbor_columns, plan_columns, procedure_columns
from dx2px.codes import gives_way_to, shown_code, title
from dx2px.frames import as_frame
from dx2px.scoring.plans import Plan

Status = Literal["known", "backed-off", "unknown"]
MappingKind = Literal["exact", "approximate", "parent", "no-map", "not-listed"]
MAPPING_KINDS: tuple[MappingKind, ...] = get_args(MappingKind)
SCOPE = (
    "The answers reproduce how the hospital stays in the model's data were coded, for billing, after the stay. "
    "They are not medical advice."
)
FEW = 30  # training stays
NAMED = 3  # codes of each kind in a `repr`
EXPLANATION = "dx2px-explanation/2"  # the form that `explanation.schema.json` describes


def shown_probability(value: float | None) -> str:
    """A probability as a reader sees it: in per cent, with as many digits as mean something."""
    if value is None:
        return "–"
    return f"{value:.1%}" if value >= 0.001 else "< 0.1%"


@dataclass(frozen=True)
class StandIn:
    """What replaced a code that the model has not seen: the mean of its known codes under a heading."""

    code: str  # of the heading
    title: str
    codes: int


@dataclass(frozen=True)
class Mapped:
    """A diagnosis of the other ICD version, and the codes that replaced it."""

    code: str
    to: tuple[str, ...]  # empty where the other version has no equivalent
    exact: bool
    listed: bool  # whether the map has the code, or one above it, at all
    via: str | None = (
        None  # the heading whose codes replaced it, where the map has nothing for the code itself
    )

    @property
    def implied(self) -> tuple[str, ...]:
        """Those that give way to certain others (`gives_way_to`)."""
        return tuple(code for code in self.to[1:] if gives_way_to(code))

    def beside(self, others: Set[str]) -> Self:
        """Without what gives way to some of the stay's other codes."""
        gone = {code for code in self.implied if gives_way_to(code) & others}
        return replace(self, to=tuple(code for code in self.to if code not in gone)) if gone else self

    @property
    def kind(self) -> MappingKind:
        """How the codes replace it."""
        if not self.to:
            return "no-map" if self.listed else "not-listed"
        return "parent" if self.via else "exact" if self.exact else "approximate"

    def to_dict(self) -> dict[str, Any]:
        named = {"from": self.code, "title": title(self.code).text}
        record: dict[str, Any] = {**named, "to": list(self.to), "kind": self.kind}
        return record | ({"via": self.via} if self.via else {})


@dataclass(frozen=True)
class Coverage:
    """A set made to hold, on average over stays, `target` of a stay's procedures: those at least this probable."""

    target: float
    set_size: int
    threshold: float


@dataclass(frozen=True)
class Diagnosis:
    """A diagnosis that was asked about; one that the model cannot use has significance 0."""

    code: str
    title: str
    significance: float
    status: Status
    stand_in: StandIn | None = None  # of a backed-off one
    mapped_from: tuple[str, ...] = ()  # the codes of the other ICD version that it replaces
    principal: bool = False
    stays: int | None = None  # training stays with it, or with what stands in for it; from 1 to 11 it says 11

    def weighing(self, significance: float) -> Diagnosis:
        """The same with another significance; in a third of the time that `replace` would take."""
        same = object.__new__(Diagnosis)
        same.__dict__.update(self.__dict__, significance=significance)
        return same

    def to_dict(self) -> dict[str, Any]:
        record = dict(vars(self))
        del record["stand_in"], record["mapped_from"], record["principal"]
        if self.principal:
            record["principal"] = True
        if self.stand_in is not None:
            record["stand_in"] = dict(vars(self.stand_in))
        if self.mapped_from:
            record["mapped_from"] = list(self.mapped_from)
        return record


@dataclass(frozen=True)
class EvidenceRow:
    """What the model knew besides diagnoses: a procedure already coded, a fact about the stay, the background."""

    code: str  # of a coded procedure; otherwise a name, such as age:65–74,sex:F
    kind: Literal["coded", "background", "principal", "person", "admission"]
    title: str
    significance: float
    status: Status = "known"
    stays: int | None = None  # training stays with a coded procedure; from 1 to 11 it says 11

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


class Reason(NamedTuple):
    """The share of a diagnosis, or of other evidence, in a procedure: its part of the procedure's mass in the plan."""

    code: str
    share: float

    def to_dict(self) -> dict[str, Any]:
        return {"code": self.code, "share": self.share}


@dataclass(frozen=True)
class Procedure:
    """A procedure and its reasons; one that the model does not know has no numbers and no column in the plan."""

    code: str
    title: str
    status: Status
    probability: float | None = None  # None also where the model has no calibration
    score: float | None = None  # what it is ranked by; its unit is the method's
    rank: int | None = None  # among all procedures of the model
    because: tuple[
        Reason, ...
    ] = ()  # largest share first; shares sum to 1; empty without a column in the plan
    rests_on: int | None = (
        None  # training stays with its main reason, if that is a code; from 1 to 11 it says 11
    )
    family: Family | None = None  # of a family of ICD-10-PCS codes: what is to be completed

    @property
    def few_stays(self) -> bool:
        """Whether it rests on so few training stays that chance may have put it there."""
        return self.rests_on is not None and self.rests_on < FEW

    def to_dict(self) -> dict[str, Any]:
        record = {**vars(self), "because": [reason.to_dict() for reason in self.because]}
        del record["family"]
        return record | ({"family": self.family.to_dict()} if self.family else {})


@dataclass(frozen=True)
class Source:
    """The model behind an answer."""

    method: str
    version: str  # of the dx2px that made it
    fingerprint: str  # of everything that its answers depend on


@dataclass(frozen=True, eq=False)
class Answer:
    """What a model answers about one stay.

    Rows of the plan are the known and backed-off diagnoses and then the known evidence, its columns the known
    procedures, all in the order listed. If reasons were asked for only the first procedures, the others have no column.
    """

    source: Source
    diagnoses: tuple[Diagnosis, ...]
    procedures: tuple[Procedure, ...]
    plan: Plan  # what the reasons are shares of
    coverage: Coverage | None = None  # where a set of stated coverage was asked for
    mapping: tuple[Mapped, ...] = ()  # of the diagnoses that are of the other ICD version
    evidence: tuple[EvidenceRow, ...] = ()  # besides the diagnoses, for a model that takes it
    alternatives: tuple[tuple[str, ...], ...] = ()  # groups of the procedures: a stay has one of each at most
    remarks: tuple[Remark, ...] = ()  # on single codes: what was probably meant, whom a code is for

    @classmethod
    def of(cls, answer: Answer) -> Self:
        """The same answer in another form."""
        return cls(**vars(answer))

    def __repr__(self) -> str:
        """The diagnoses and the first procedures, in one line."""
        asked = ", ".join(shown_code(one.code) for one in self.diagnoses[:NAMED])
        found = (
            f"{shown_code(one.code)} {shown_probability(one.probability)}" for one in self.procedures[:NAMED]
        )
        more = [", …" if len(codes) > NAMED else "" for codes in (self.diagnoses, self.procedures)]
        return f"{type(self).__name__}({asked}{more[0]} → {', '.join(found)}{more[1]})"

    def _repr_html_(self) -> str:
        """The flow from diagnoses to procedures and the table, for notebooks."""
        from dx2px.report.notebook import answer_html  # the one look upwards: an answer can draw itself

        return answer_html(self)

    def _stated(self) -> dict[str, Any]:
        """The entries that an answer has only where they were asked for."""
        record: dict[str, Any] = {}
        if self.evidence:
            record["evidence"] = [row.to_dict() for row in self.evidence]
        if self.alternatives:
            record["alternatives"] = [list(group) for group in self.alternatives]
        explained = len(self.plan.procedures)
        if 0 < explained < sum(procedure.status == "known" for procedure in self.procedures):
            record["with_reasons"] = explained
        if self.coverage is not None:
            record["coverage"] = asdict(self.coverage)
        if self.remarks:
            record["remarks"] = [one.to_dict() for one in self.remarks]
        if self.mapping:
            record["mapping"] = [one.to_dict() for one in self.mapping]
        return record


class Explanation(Answer):
    """How diagnoses lead to procedures: the whole answer, the same from Python, the command line and HTTP."""

    def to_dict(self) -> dict[str, Any]:
        """As `explanation.schema.json` describes it."""
        return {
            "schema": EXPLANATION,
            "scope": SCOPE,
            "model": asdict(self.source),
            "diagnoses": [diagnosis.to_dict() for diagnosis in self.diagnoses],
            "procedures": [procedure.to_dict() for procedure in self.procedures],
            "plan": self.plan.to_dict(),
            **self._stated(),
        }

    def to_frame(self) -> Any:
        """A data frame of pandas or polars: one row per procedure and diagnosis, with their mass and share."""
        return as_frame(plan_columns(self))


class Recommendation(Answer):
    """The best procedures for a stay's diagnoses, best first; `Explanation.of` shows their plan as well."""

    @property
    def recommendations(self) -> tuple[Procedure, ...]:
        """The procedures under the name that the document has for them."""
        return self.procedures

    def to_dict(self) -> dict[str, Any]:
        """As `dx2px recommend --json` prints it: diagnoses and procedures, without the plan."""
        return {
            "diagnoses": [diagnosis.to_dict() for diagnosis in self.diagnoses],
            "recommendations": [_brief(procedure.to_dict()) for procedure in self.procedures],
            **self._stated(),
        }

    def to_frame(self) -> Any:
        """A data frame of pandas or polars: one row per procedure, with its main reason."""
        return as_frame(procedure_columns(self))


def explanation_schema() -> dict[str, Any]:
    """The JSON Schema of `Explanation.to_dict`."""
    schema: dict[str, Any] = json.loads((files("dx2px.answers") / "explanation.schema.json").read_bytes())
    return schema


def _brief(procedure: dict[str, Any]) -> dict[str, Any]:
    names = ("rank", "code", "title", "probability", "because", "rests_on", "family")
    return {name: procedure[name] for name in names if name in procedure}


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

    def __repr__(self) -> str:
        near = (*self.diagnoses[:NAMED], *self.procedures[:NAMED])
        named = ", ".join(f"{shown_code(one.code)} {one.similarity:.2f}" for one in near)
        return f"Neighbors({shown_code(self.code)} ~ {named}, …)"

    def to_frame(self) -> Any:
        """A data frame of pandas or polars: one row per neighbour."""
        return as_frame(neighbor_columns(self))

    def to_dict(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "title": self.title,
            "diagnoses": [asdict(neighbor) for neighbor in self.diagnoses],
            "procedures": [asdict(neighbor) for neighbor in self.procedures],
        }
