"""The JSON of the API: what requests must be, and what answers promise.

Requests are checked against these models, strictly: no coercion, no unknown names. Answers are made elsewhere, as plain
dictionaries; their models here are the OpenAPI document's, and tests hold the answers to them. An answer may carry
names beyond the promised ones.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

MOST_CODES, MOST_STAYS, MOST_TOP = 200, 200, 50

# Printable, with a letter or digit somewhere: 428.0, icd9cm:4280.
CODE_PATTERN = r"^[^\x00-\x1f\x7f]*[0-9A-Za-z][^\x00-\x1f\x7f]*$"
TEXT_PATTERN = r"^[^\x00-\x1f\x7f]*$"


def _distinct(values: list[str]) -> list[str]:
    if len(set(values)) != len(values):
        raise PydanticCustomError("repeated", "must not repeat an item")
    return values


def _whole(value: Any) -> Any:
    """JSON has one kind of number: 5.0 is an integer there."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


CodeText = Annotated[str, Field(min_length=1, max_length=64, pattern=CODE_PATTERN, examples=["428.0"])]
UNIQUE: dict[str, Any] = {"uniqueItems": True}
Codes = Annotated[
    list[CodeText],
    Field(min_length=1, max_length=MOST_CODES, json_schema_extra=UNIQUE, examples=[["428.0", "584.9"]]),
    AfterValidator(_distinct),
]
FewCodes = Annotated[
    list[CodeText],
    Field(min_length=1, max_length=MOST_TOP, json_schema_extra=UNIQUE),
    AfterValidator(_distinct),
]
SomeCodes = Annotated[
    list[CodeText], Field(max_length=MOST_CODES, json_schema_extra=UNIQUE), AfterValidator(_distinct)
]
Mapped = Annotated[bool, Field(description="Put ICD-10 diagnoses to an ICD-9 model, or the reverse.")]
Top = Annotated[int, Field(ge=1, le=MOST_TOP), BeforeValidator(_whole)]


class Asked(BaseModel):
    """A request's body."""

    model_config = ConfigDict(strict=True, extra="forbid")


class RecommendRequest(Asked):
    diagnoses: Codes
    top: Top = 5
    coverage: Annotated[float, Field(ge=0.01, le=0.99)] | None = Field(
        default=None,
        description="Instead of the best `top`, the set that holds this share of a stay's procedures, on average.",
    )
    map: Mapped = False


class ExplainRequest(Asked):
    diagnoses: Codes
    procedures: FewCodes | None = Field(
        default=None, description="The procedures to explain; the best ones by default."
    )
    top: Top = 5
    map: Mapped = False
    plan: Literal["own", "transport"] = Field(
        default="own", description="The model's own plan, or the paper's transport plan."
    )


class CodedStay(Asked):
    id: Annotated[str, Field(max_length=64, pattern=TEXT_PATTERN)] | None = Field(
        default=None, description="Given back with the answer."
    )
    diagnoses: Codes
    procedures: SomeCodes


class AuditRequest(Asked):
    stays: Annotated[list[CodedStay], Field(min_length=1, max_length=MOST_STAYS)]


class Told(BaseModel):
    """A part of an answer. More names than these may come."""

    model_config = ConfigDict(extra="allow")


Share = Annotated[float, Field(ge=0, le=1.000001)]
Probability = Annotated[float, Field(ge=0, le=1)]


class FoundCode(Told):
    code: str = Field(examples=["icd9cm:4280"])
    dotted: str = Field(examples=["428.0"])
    title: str
    known: bool = Field(description="Whether the model learned from stays with this code.")


class CodesAnswer(Told):
    codes: list[FoundCode] = Field(description="Codes that the model knows stand first.")


class Diagnosis(Told):
    code: str
    title: str
    significance: Share
    status: str = Field(description="known, unknown, or backed-off to a nearby code.", examples=["known"])


class Reason(Told):
    code: str
    share: Share


class Recommended(Told):
    rank: Annotated[int, Field(ge=1)]
    code: str
    title: str
    probability: Probability | None
    because: list[Reason] = Field(description="The diagnoses it comes from, the largest share first.")


class RecommendAnswer(Told):
    diagnoses: list[Diagnosis]
    recommendations: list[Recommended]


class Procedure(Told):
    code: str
    title: str
    status: Literal["known", "unknown"]
    probability: Probability | None
    score: float | None = Field(description="What it is ranked by, in the method's own unit.")
    rank: Annotated[int, Field(ge=1)] | None = Field(description="Its place among all procedures.")
    because: list[Reason] = Field(description="The diagnoses it comes from, the largest share first.")


PlanKind = Literal["coupling", "transport", "penalised-transport", "leave-one-out"]


class Plan(Told):
    kind: PlanKind
    reading: str = Field(description="What mass means in a plan of this kind.")
    faithfulness: str = Field(description="How often such plans name the cause of a procedure, as measured.")
    diagnoses: list[str] = Field(description="Rows of `mass`.")
    procedures: list[str] = Field(description="Columns of `mass`.")
    mass: list[list[Annotated[float, Field(ge=0)]]]
    cost: float | None = Field(description="Null, as the four below, where nothing was solved.")
    marginal_error: float | None
    gap: float | None
    iterations: int | None
    converged: bool | None


class Source(Told):
    method: str
    version: str = Field(description="Of the dx2px that made the model.")
    fingerprint: str = Field(description="Of all that the model's answers depend on.")


class ExplainAnswer(Told):
    """An explanation, the same document as from the command line."""

    version: Literal["dx2px-explanation/1"] = Field(alias="schema")
    scope: str
    model: Source
    diagnoses: list[Diagnosis]
    procedures: list[Procedure]
    plan: Plan


class Finding(Told):
    code: str
    title: str
    probability: Probability
    rank: Annotated[int, Field(ge=1)] = Field(
        description="Its place among all procedures for these diagnoses."
    )
    strength: Probability = Field(description="How probably it is a mistake.")
    because: list[Reason]


class AuditedStay(Told):
    id: str | None
    unsupported: list[Finding] = Field(description="Coded, though the diagnoses speak little for it.")
    missing: list[Finding] = Field(description="Not coded, though the diagnoses speak much for it.")
    unknown: list[str] = Field(description="Codes that the model does not know.")


class AuditAnswer(Told):
    stays: list[AuditedStay]


class Neighbor(Told):
    code: str
    title: str
    similarity: Annotated[float, Field(ge=-1.000001, le=1.000001)]


class NeighborsAnswer(Told):
    code: str
    title: str
    diagnoses: list[Neighbor]
    procedures: list[Neighbor]


class Measured(Told):
    top: int
    recall: float
    precision: float
    f1: float


class ModelAnswer(Told):
    method: str
    version: str = Field(description="Of the dx2px that serves.")
    made_by: str = Field(description="The version of the dx2px that made the model.")
    diagnoses: int = Field(description="Diagnoses that the model knows.")
    procedures: int
    systems: list[str] = Field(description="Coding systems of its codes.", examples=[["icd9cm", "icd9pcs"]])
    plan: PlanKind = Field(description="The kind of its own plan, which its reasons are shares of.")
    metrics: list[Measured] = Field(description="Per cent on test stays, as the model card has them.")
    card: str = Field(description="The model card, Markdown.")
    scope: str = Field(description="What the answers are, and are not.")


class Health(Told):
    status: str


class FlawTold(Told):
    pointer: str
    detail: str


class ProblemTold(Told):
    """An error, after RFC 9457."""

    type: str = Field(examples=["urn:dx2px:problem:invalid-request"])
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    detail: str
    errors: list[FlawTold] | None = None
    request_id: str | None = None


Kind = Literal["diagnosis", "procedure"]
