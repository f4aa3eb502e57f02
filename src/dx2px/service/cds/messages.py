"""The messages of CDS Hooks 2.0, as far as the service reads and writes them.

Requests may have more names than these (`fhirServer`, `fhirAuthorization`, extensions): it is ignored.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from dx2px.service.schemas import Report

UUID = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
ID = r"^[A-Za-z0-9.-]{1,64}$"
Uuid = Annotated[str, Field(pattern=UUID, examples=["d1577c69-dfbe-44ad-ba6d-3e05e953b2ea"])]
FhirId = Annotated[str, Field(pattern=ID, examples=["1288992"])]
Prefetched = dict[str, Any] | None


class Sent(BaseModel):
    """A part of a request; other names in it are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore")


class Prefetch(Sent):
    """A key is absent if the record system could not answer, and null if it found nothing."""

    conditions: Prefetched = Field(
        default=None, description="Bundle of the patient's Conditions, or one of them."
    )
    encounterConditions: Prefetched = Field(default=None, description="The same for the encounter.")  # noqa: N815


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


class FeedbackEntry(Sent):
    card: Annotated[str, Field(max_length=64)]
    outcome: Literal["accepted", "overridden"]
    outcomeTimestamp: Annotated[str, Field(max_length=64)]  # noqa: N815


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
    links: list[Link]
    suggestions: list[Suggestion]
    selectionBehavior: Literal["any"]  # noqa: N815


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
