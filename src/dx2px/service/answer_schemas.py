"""The JSON of the API: the form that answers promise.

Answers are plain dictionaries made elsewhere; these models are for the OpenAPI document, and tests check the answers
against them. An answer may have more names than promised.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from dx2px.answers.defects import Kind as FindingKind
from dx2px.service.schemas import MOST_TOP


class Report(BaseModel):
    """A part of an answer. It may have more names than these."""

    model_config = ConfigDict(extra="allow")


Share = Annotated[float, Field(ge=0, le=1.000001)]
Probability = Annotated[float, Field(ge=0, le=1)]


class FoundCode(Report):
    code: str = Field(examples=["icd9cm:4280"])
    dotted: str = Field(examples=["428.0"])
    system: str = Field(description="The edition of ICD that it belongs to.", examples=["ICD-9-CM"])
    title: str
    known: bool = Field(description="Whether the model knows this code.")
    other_version: bool = Field(description="Whether it is of an ICD version that the model does not know.")


class CodesAnswer(Report):
    codes: list[FoundCode] = Field(description="Codes that the model knows come first.")


class Diagnosis(Report):
    code: str
    title: str
    significance: Share
    status: str = Field(
        description="`known`; `backed-off` if similar known codes stand in for it; or `unknown`.",
        examples=["known"],
    )
    principal: Literal[True] | None = Field(
        default=None, description="If it was named as the principal diagnosis."
    )


EvidenceKind = Literal["coded", "background", "principal", "person", "admission"]


class EvidenceReport(Report):
    """What the model knew besides the diagnoses; every stay has the background."""

    code: str = Field(
        description="Of a coded procedure; otherwise a name.", examples=["icd9pcs:3995", "age:65–74,sex:F"]
    )
    kind: EvidenceKind
    title: str
    significance: Share
    status: Literal["known", "unknown"]


class Reason(Report):
    code: str
    share: Share


BECAUSE: Any = Field(
    description="The diagnoses and other evidence it comes from, largest share first; empty beyond the first "
    "`with_reasons`."
)
EVIDENCE: Any = Field(default=None, description="If the model takes more than diagnoses: what else it knew.")


class FamilyReport(Report):
    """A family of ICD-10-PCS codes, such as `icd10pcs:0SR[CD]`: what is to be completed."""

    complete_by: list[str]
    codes: Annotated[int, Field(ge=1)]
    listed: list[str] = Field(description="The first of its codes.")
    side: Literal["left", "right"] | None = None
    narrowed: str | None = Field(default=None, description="The part of the family on that side.")


FAMILY: Any = Field(default=None, description="If the procedure is a family of ICD-10-PCS codes.")


class Recommended(Report):
    rank: Annotated[int, Field(ge=1)]
    code: str
    title: str
    probability: Probability | None
    because: list[Reason] = BECAUSE
    family: FamilyReport | None = FAMILY


class CoverageReport(Report):
    """A set that holds `target` of a stay's procedures on average: those at least as probable as `threshold`."""

    target: float
    set_size: Annotated[int, Field(ge=1)]
    threshold: Probability


class MappedReport(Report):
    """A diagnosis of the other ICD version, and the codes that replaced it."""

    code: str = Field(alias="from")
    title: str
    to: list[str]
    kind: Literal["exact", "approximate", "parent", "no-map", "not-listed"]
    via: str | None = Field(
        default=None,
        description="If the map has nothing for the code itself: the heading whose codes replaced it.",
    )


class RemarkReport(Report):
    """A sentence on a code: what was probably meant, or the sex and age that it is for."""

    code: str
    text: str
    instead: str | None = Field(default=None, description="The code that was probably meant.")


REMARKS: Any = Field(default=None, description="If there are any.")
ASKED_COVERAGE: Any = Field(default=None, description="If a coverage was asked for.")
MAPPING: Any = Field(default=None, description="If diagnoses are of the other ICD version.")
WITH_REASONS: Any = Field(
    default=None,
    ge=1,
    description=f"If there are more procedures than reasons are given for ({MOST_TOP}): how many, the first ones, have "
    "theirs. Ask `/api/explain` for others by name, in `procedures`.",
)


class RecommendAnswer(Report):
    diagnoses: list[Diagnosis]
    recommendations: list[Recommended]
    evidence: list[EvidenceReport] | None = EVIDENCE
    with_reasons: int | None = WITH_REASONS
    coverage: CoverageReport | None = ASKED_COVERAGE
    mapping: list[MappedReport] | None = MAPPING
    remarks: list[RemarkReport] | None = REMARKS


class Procedure(Report):
    code: str
    title: str
    status: Literal["known", "unknown"]
    probability: Probability | None
    score: float | None = Field(description="What it is ranked by, in the method's own unit.")
    rank: Annotated[int, Field(ge=1)] | None = Field(description="Its place among all procedures.")
    because: list[Reason] = BECAUSE
    family: FamilyReport | None = FAMILY


PlanKind = Literal["coupling", "transport", "penalised-transport", "leave-one-out"]


class Plan(Report):
    kind: PlanKind
    reading: str = Field(description="What mass means in a plan of this kind.")
    faithfulness: str = Field(
        description="How often such plans name the cause of a procedure, as far as measured."
    )
    diagnoses: list[str] = Field(description="The first rows of `mass`.")
    evidence: list[str] | None = Field(
        default=None, description="The other rows of `mass`, if there are any."
    )
    procedures: list[str] = Field(description="Columns of `mass`.")
    mass: list[list[Annotated[float, Field(ge=0)]]]
    cost: float | None = Field(description="Null, like the next four, if nothing was solved.")
    marginal_error: float | None
    gap: float | None
    iterations: int | None
    converged: bool | None


class Source(Report):
    method: str
    version: str = Field(description="Of the dx2px that made the model.")
    fingerprint: str = Field(description="Of everything that the model's answers depend on.")


class ExplainAnswer(Report):
    """An explanation, the document of `dx2px explain --json`."""

    version: Literal["dx2px-explanation/2"] = Field(alias="schema")
    scope: str
    model: Source
    diagnoses: list[Diagnosis]
    procedures: list[Procedure]
    plan: Plan
    evidence: list[EvidenceReport] | None = EVIDENCE
    with_reasons: int | None = WITH_REASONS
    coverage: CoverageReport | None = ASKED_COVERAGE
    mapping: list[MappedReport] | None = MAPPING
    remarks: list[RemarkReport] | None = REMARKS


class Finding(Report):
    kind: FindingKind = Field(
        description="`unsupported`: coded, though nothing else of the stay supports it. `omitted`: expected from "
        "everything else that is coded, but absent. `swap`: absent and usual, but an alternative that excludes it is "
        "coded. `companion`: absent, but usually coded together with a coded procedure. `diagnosis`: coded, but no "
        "diagnosis of the stay explains it."
    )
    code: str = Field(description="The procedure.")
    title: str
    other: str | None = Field(description="The coded procedure of a swap or of a companion.")
    strength: Probability = Field(description="The probability that it is a mistake.")
    probability: Probability = Field(description="Of the procedure, given the rest of the stay.")
    rank: Annotated[int, Field(ge=1)] = Field(
        description="Its place among all procedures that are not coded besides it."
    )
    because: list[Reason]
    suggested: list[Reason] = Field(
        description="For the kind `diagnosis`: the diagnoses that usually explain the procedure."
    )


class NamedEvidence(Report):
    code: str
    kind: EvidenceKind
    title: str


class AuditedStay(Report):
    id: str | None
    findings: list[Finding] = Field(description="Strongest first.")
    unknown: list[str] = Field(description="Codes that the model does not know.")
    mapping: list[MappedReport] | None = MAPPING
    remarks: list[RemarkReport] | None = REMARKS
    audited: bool = Field(
        default=True,
        description="False if the procedures are of an ICD version that the model does not know: there is nothing to "
        "compare.",
    )
    evidence: list[NamedEvidence] | None = Field(
        default=None, description="What the reasons name besides diagnoses, if anything."
    )


class AuditAnswer(Report):
    stays: list[AuditedStay]


class Neighbor(Report):
    code: str
    title: str
    similarity: Annotated[float, Field(ge=-1.000001, le=1.000001)]


class NeighborsAnswer(Report):
    code: str
    title: str
    diagnoses: list[Neighbor]
    procedures: list[Neighbor]


class Rates(Report):
    top: int = Field(description="Of the best so many recommendations.")
    recall: float
    precision: float
    f1: float


class TakenEvidence(Report):
    """What a model takes besides diagnoses. It always takes age, sex and coded procedures."""

    principal: bool = Field(description="Whether it takes a principal diagnosis.")
    admissions: list[str] = Field(description="The types of admission that it knows.")
    ages: list[int] = Field(description="The first year of each age band.")


class ModelAnswer(Report):
    name: str | None = Field(
        description="What the model's folder is called; for a model of the package, its name.",
        examples=["nhds2010"],
    )
    method: str
    version: str = Field(description="Of the dx2px that runs the service.")
    made_by: str = Field(description="The version of the dx2px that made the model.")
    diagnoses: int = Field(description="Diagnoses that the model knows.")
    procedures: int
    systems: list[str] = Field(description="Coding systems of its codes.", examples=[["icd9cm", "icd9pcs"]])
    answers_in: list[str] = Field(
        description="Systems of procedures that the service can answer in.",
        examples=[["icd9pcs", "icd10pcs"]],
    )
    plan: PlanKind = Field(description="The kind of the model's own plan, which its reasons are shares of.")
    evidence: TakenEvidence | None = Field(
        description="What it takes besides diagnoses; null if it takes only diagnoses."
    )
    metrics: list[Rates] = Field(description="Measured on the test stays, in per cent.")
    calibration: dict[str, Any] | None = Field(
        description="Measured on the test stays, as in `dx2px evaluate --json`; null if it was not."
    )
    card: str = Field(description="The model card, in Markdown.")
    scope: str = Field(description="What the answers are, and are not.")


class Health(Report):
    status: str
