"""The JSON of the API: the form that requests must have. They are checked strictly: no coercion, no unknown names.

`answer_schemas` has the form of the answers.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from dx2px.answers.defects import KINDS, USUAL_KINDS
from dx2px.answers.defects import Kind as FindingKind
from dx2px.answers.facts import OLDEST

MOST_CODES, MOST_STAYS, MOST_TOP = 200, 200, 50

# Printable, with at least one letter or digit: 428.0, icd9cm:4280.
CODE_PATTERN = r"^[^\x00-\x1f\x7f]*[0-9A-Za-z][^\x00-\x1f\x7f]*$"
TEXT_PATTERN = r"^[^\x00-\x1f\x7f]*$"


Kind = Literal["diagnosis", "procedure"]
T = TypeVar("T", bound=str)


def _distinct(values: list[T]) -> list[T]:
    if len(set(values)) != len(values):
        raise PydanticCustomError("repeated", "must not repeat an item")
    return values


def _whole(value: Any) -> Any:
    """JSON has one kind of number: 5.0 is an integer too."""
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
Mapped = Annotated[
    bool,
    Field(description="Translate diagnoses of the other ICD version by the public maps; false refuses them."),
]
AnswerIn = Annotated[
    Literal["icd9pcs", "icd10pcs"] | None,
    Field(
        description="The system of the procedures, one of those in `answers_in` of `/api/model`. By default ICD-10-PCS "
        "if most diagnoses are ICD-10-CM codes and a model here answers so."
    ),
]
Top = Annotated[int, Field(ge=1, le=MOST_TOP, description="How many procedures."), BeforeValidator(_whole)]
Coverage = Annotated[float, Field(ge=0.01, le=0.99)]
COVERAGE: Any = Field(
    default=None,
    description="Instead of the best `top`, the set that holds this share of a stay's procedures on average.",
)
Age = Annotated[float, Field(ge=0, le=OLDEST, allow_inf_nan=False)]
Admission = Annotated[str, Field(min_length=1, max_length=64, pattern=CODE_PATTERN, examples=["elective"])]


class Request(BaseModel):
    """The body of a request."""

    model_config = ConfigDict(strict=True, extra="forbid")


class StayFacts(Request):
    """What else is known about a stay, for a model that takes it; `/api/model` says what that is."""

    principal: CodeText | None = Field(default=None, description="The principal diagnosis.")
    age: Age | None = Field(default=None, description="In years.")
    sex: Literal["F", "M"] | None = None
    admission: Admission | None = Field(
        default=None, description="The type of admission, one of those that the model knows."
    )


class OpenStayFacts(StayFacts):
    """The same for a stay that is still being coded."""

    coded: SomeCodes | None = Field(
        default=None,
        description="Procedures that are coded already: they count as evidence and are not recommended again.",
    )


class RecommendRequest(OpenStayFacts):
    diagnoses: Codes
    top: Top = 5
    coverage: Coverage | None = COVERAGE
    map: Mapped = True
    answer_in: AnswerIn = None


class ExplainRequest(OpenStayFacts):
    diagnoses: Codes
    procedures: FewCodes | None = Field(
        default=None,
        description="The procedures to explain; `top` and `coverage` do not matter then. The best ones by default.",
    )
    top: Top = 5
    coverage: Coverage | None = COVERAGE
    map: Mapped = True
    answer_in: AnswerIn = None
    plan: Literal["own", "transport"] = Field(
        default="own",
        description="The model's own plan, or the paper's transport plan. The reasons are shares of this plan.",
    )


class CodedStay(StayFacts):
    id: Annotated[str, Field(max_length=64, pattern=TEXT_PATTERN)] | None = Field(
        default=None, description="Returned with the answer."
    )
    diagnoses: Codes
    procedures: SomeCodes


class AuditRequest(Request):
    stays: Annotated[list[CodedStay], Field(min_length=1, max_length=MOST_STAYS)]
    kinds: Annotated[
        list[FindingKind],
        Field(min_length=1, max_length=len(KINDS), json_schema_extra=UNIQUE),
        AfterValidator(_distinct),
    ] = Field(default=list(USUAL_KINDS), description="The kinds of finding that are wanted.")
    map: Mapped = True
    answer_in: Literal["icd9pcs", "icd10pcs"] | None = Field(
        default=None,
        description="The system of the procedures, one of those in `answers_in` of `/api/model`. By default, for each "
        "stay, that of its coded procedures or, if it has none, of its diagnoses.",
    )
