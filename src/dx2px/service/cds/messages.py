"""The messages of CDS Hooks 2.0, as far as the service reads and writes them.

Requests may have more names than these (`fhirServer`, `fhirAuthorization`, extensions): they are ignored.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from dx2px.service.answer_schemas import Report

UUID = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
ID = r"^[A-Za-z0-9.-]{1,64}$"
Uuid = Annotated[str, Field(pattern=UUID, examples=["d1577c69-dfbe-44ad-ba6d-3e05e953b2ea"])]
FhirId = Annotated[str, Field(pattern=ID, examples=["1288992"])]
Text = Annotated[str, Field(min_length=1)]
# RFC 3339, in UTC.
INSTANT = (
    r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)"
    r"(\.[0-9]{1,9})?([Zz]|[+-]00:00)$"
)
Instant = Annotated[str, Field(pattern=INSTANT, examples=["2026-11-16T09:12:01Z"])]
Prefetched = dict[str, Any] | None


def _given(name: str, kind: str) -> dict[str, Any]:
    """The JSON Schema of an object that has a name, not null."""
    return {"required": [name], "properties": {name: {"type": kind}}}


class Sent(BaseModel):
    """A part of a request; other names in it are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore")


class Prefetch(Sent):
    """A key is absent if the record system could not answer, and null if it found nothing."""

    conditions: Prefetched = Field(
        default=None, description="Bundle of the patient's Conditions, or one of them."
    )
    encounterConditions: Prefetched = Field(default=None, description="The same for the encounter.")  # noqa: N815
    patient: Prefetched = Field(default=None, description="The Patient, for age and sex.")
    encounter: Prefetched = Field(
        default=None, description="The Encounter, for its start and the principal diagnosis."
    )
    procedures: Prefetched = Field(default=None, description="Bundle of the encounter's Procedures.")


class Context(Sent):
    patientId: FhirId  # noqa: N815
    encounterId: FhirId | None = None  # noqa: N815


class OrderContext(Context):
    draftOrders: Prefetched = Field(default=None, description="Bundle of the orders being written.")  # noqa: N815


class PatientViewRequest(Sent):
    hook: Literal["patient-view"]
    hookInstance: Uuid  # noqa: N815
    context: Context
    prefetch: Prefetch | None = None


class OrderSelectRequest(Sent):
    hook: Literal["order-select"]
    hookInstance: Uuid  # noqa: N815
    context: OrderContext
    prefetch: Prefetch | None = None


class AcceptedSuggestion(Sent):
    id: Uuid


# Of a thousand entries with a thousand suggestions each, not every one that is wrong is noted.
Suggestions = Annotated[list[AcceptedSuggestion], Field(min_length=1, max_length=1000, fail_fast=True)]


class OverrideCoding(Sent):
    code: Text
    system: Text


class OverrideReason(Sent):
    """Why a card was overridden: a reason from a list, a comment, or both."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [_given("reason", "object"), _given("userComment", "string")]}
    )

    reason: OverrideCoding | None = None
    userComment: str | None = None  # noqa: N815

    @model_validator(mode="after")
    def _says_something(self) -> OverrideReason:
        if self.reason is None and self.userComment is None:
            raise PydanticCustomError("reason_missing", "must have a reason or a userComment")
        return self


class FeedbackEntry(Sent):
    """What became of a card. Which suggestions were accepted must be said if any were."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"outcome": {"const": "accepted"}}},
            "then": _given("acceptedSuggestions", "array"),
        }
    )

    card: Uuid
    outcome: Literal["accepted", "overridden"]
    outcomeTimestamp: Instant  # noqa: N815
    acceptedSuggestions: Suggestions | None = None  # noqa: N815
    overrideReason: OverrideReason | None = None  # noqa: N815

    @model_validator(mode="after")
    def _names_what_was_accepted(self) -> FeedbackEntry:
        if self.outcome == "accepted" and self.acceptedSuggestions is None:
            raise PydanticCustomError("suggestions_missing", "must have acceptedSuggestions")
        return self


class FeedbackRequest(Sent):
    feedback: Annotated[list[FeedbackEntry], Field(min_length=1, max_length=1000)]


class Service(Report):
    hook: str
    id: str
    title: str
    description: str
    prefetch: dict[str, str]


class Services(Report):
    services: list[Service]


class Source(Report):
    label: str
    url: str


class Link(Report):
    label: str
    url: str
    type: Literal["absolute"]


class Action(Report):
    type: Literal["create"]
    description: str
    resource: dict[str, Any]


class Suggestion(Report):
    label: str
    uuid: Uuid
    actions: list[Action]


class Card(Report):
    uuid: Uuid
    summary: Annotated[str, Field(max_length=139)]
    indicator: Literal["info"]
    detail: str = Field(description="Markdown.")
    source: Source
    links: list[Link] = Field(
        default=[], description="None on a card that checks what is coded; likewise below."
    )
    suggestions: list[Suggestion] = Field(default=[])
    selectionBehavior: Literal["any"] | None = None  # noqa: N815


class Cards(Report):
    cards: list[Card]
    extension: dict[str, Any] = Field(description="What was read, and what could not be.")


MODELS: tuple[type[BaseModel], ...] = (
    PatientViewRequest,
    OrderSelectRequest,
    FeedbackRequest,
    Services,
    Cards,
)
