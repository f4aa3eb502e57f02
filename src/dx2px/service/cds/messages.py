"""The messages of CDS Hooks 2.0, as far as the service reads and writes them.

Requests may carry more than is named here (`fhirServer`, `fhirAuthorization`, extensions): it is ignored.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

UUID = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
ID = r"^[A-Za-z0-9.-]{1,64}$"
Uuid = Annotated[str, Field(pattern=UUID, examples=["d1577c69-dfbe-44ad-ba6d-3e05e953b2ea"])]
FhirId = Annotated[str, Field(pattern=ID, examples=["1288992"])]
Prefetched = dict[str, Any] | None


class Sent(BaseModel):
    """A part of a request; what it holds besides is ignored."""

    model_config = ConfigDict(strict=True, extra="ignore")


class Prefetch(Sent):
    """A key is absent where the record system could not answer, null where it found nothing."""

    conditions: Prefetched = Field(
        default=None, description="Bundle of the patient's Conditions, or one of them."
    )
    encounterConditions: Prefetched = Field(default=None, description="Likewise of the encounter.")  # noqa: N815


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


class Shown(BaseModel):
    """A part of an answer."""

    model_config = ConfigDict(extra="allow")


class Service(Shown):
    hook: str
    id: str
    title: str
    description: str
    prefetch: dict[str, str]


class Services(Shown):
    services: list[Service]


class Source(Shown):
    label: str
    url: str


class Link(Shown):
    label: str
    url: str
    type: Literal["absolute"]


class Action(Shown):
    type: Literal["create"]
    description: str
    resource: dict[str, Any]


class Suggestion(Shown):
    label: str
    uuid: Uuid
    actions: list[Action]


class Card(Shown):
    uuid: Uuid
    summary: Annotated[str, Field(max_length=139)]
    indicator: Literal["info"]
    detail: str = Field(description="Markdown.")
    source: Source
    links: list[Link]
    suggestions: list[Suggestion]
    selectionBehavior: Literal["any"]  # noqa: N815


class Cards(Shown):
    cards: list[Card]
    extension: dict[str, Any] = Field(description="What was read, and what could not be.")


MODELS: tuple[type[BaseModel], ...] = (
    PatientViewRequest,
    OrderSelectRequest,
    FeedbackRequest,
    Services,
    Cards,
)
