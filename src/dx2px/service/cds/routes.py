"""The routes of CDS Hooks: discovery, two services, feedback."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import Response

from dx2px.answers.facts import Facts
from dx2px.codes import counts_as
from dx2px.service import bodies, schemas
from dx2px.service.answers import Answers
from dx2px.service.api import reply
from dx2px.service.cds import messages
from dx2px.service.cds.audit_card import audit_card_of
from dx2px.service.cds.callers import Callers
from dx2px.service.cds.cards import HABITS, card_of
from dx2px.service.cds.fhir import Reading, drafted_procedures, is_outcome, read_conditions
from dx2px.service.cds.known import Known, read_known
from dx2px.service.contract import BODY, operation
from dx2px.service.metrics import Metrics
from dx2px.service.problems import refuse
from dx2px.service.served import Served

DISCOVERY = "/cds-services"
PREFETCH = {
    "conditions": "Condition?patient={{context.patientId}}",
    "encounterConditions": "Condition?encounter={{context.encounterId}}",
}
# Asked for only if the model takes it; none of it need be sent.
FURTHER_PREFETCH = {
    "patient": "Patient/{{context.patientId}}",
    "encounter": "Encounter/{{context.encounterId}}",
    "procedures": "Procedure?encounter={{context.encounterId}}",
}
TOP = 5
_EXTENSION = "dx2px-reading"
_IN_ORDER = ("encounterConditions", "conditions")  # the encounter's come first

Hook = messages.PatientViewRequest | messages.OrderSelectRequest
Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]


@dataclass(frozen=True)
class CdsService:
    """A service in the list of discovery."""

    id: str
    hook: str
    title: str
    description: str
    body: type[messages.PatientViewRequest] | type[messages.OrderSelectRequest]

    @property
    def address(self) -> str:
        return f"{DISCOVERY}/{self.id}"

    def to_dict(self, prefetch: dict[str, str]) -> dict[str, Any]:
        return {
            "hook": self.hook,
            "id": self.id,
            "title": self.title,
            "description": self.description,
            "prefetch": prefetch,
        }


SERVICES = (
    CdsService(
        "dx2px-patient-view",
        "patient-view",
        "Procedures coded with these diagnoses",
        f"Lists the procedures most often coded for stays with the patient's diagnoses. {HABITS}",
        messages.PatientViewRequest,
    ),
    CdsService(
        "dx2px-order-select",
        "order-select",
        "Further procedures coded with these diagnoses",
        "While orders are being chosen, lists procedures often coded with the diagnoses that are not among the drafts. "
        f"{HABITS}",
        messages.OrderSelectRequest,
    ),
)


def add_cds(app: FastAPI, served: Served, metrics: Metrics, root: str, callers: Callers | None) -> None:
    """Register discovery, and for each service its own address and the one for feedback."""
    failures = (*BODY, 412, *((401,) if callers else ()))
    described = operation("List the CDS Hooks services", messages.Services, *((401,) if callers else ()), 503)
    app.add_api_route(DISCOVERY, _discovery(served, callers), **described)
    for service in SERVICES:
        described = operation(
            service.title, messages.Cards, *failures, body=service.body, example=_example(service)
        )
        app.add_api_route(
            service.address,
            _Called(service, served, metrics, root, callers).answer,
            methods=["POST"],
            **described,
        )
        described = operation("Say what became of a card", None, *failures, body=messages.FeedbackRequest)
        app.add_api_route(
            f"{service.address}/feedback", _feedback(service, metrics, callers), methods=["POST"], **described
        )


def _discovery(served: Served, callers: Callers | None) -> Endpoint:
    async def discovery(request: Request) -> Response:
        if callers is not None:
            callers.check(request, DISCOVERY)
        prefetch = PREFETCH | (FURTHER_PREFETCH if served.answers.takes_evidence else {})
        return reply({"services": [service.to_dict(prefetch) for service in SERVICES]})

    return discovery


def _feedback(service: CdsService, metrics: Metrics, callers: Callers | None) -> Endpoint:
    async def feedback(request: Request) -> Response:
        if callers is not None:
            callers.check(request, f"{service.address}/feedback")
        body = await bodies.read(request, messages.FeedbackRequest)
        for entry in body.feedback:
            metrics.fed_back(service.id, entry.outcome)
        return Response(status_code=200)

    return feedback


class _Called:
    """One service: from a hook's request to its cards."""

    def __init__(
        self, service: CdsService, served: Served, metrics: Metrics, root: str, callers: Callers | None
    ) -> None:
        self.service, self.served, self.metrics = service, served, metrics
        self.root, self.callers = root, callers

    async def answer(self, request: Request) -> Response:
        if self.callers is not None:
            self.callers.check(request, self.service.address)
        reading, known, drafted, context = _read(await bodies.read(request, self.service.body))
        answers = self.served.answers
        chosen = [answers.chosen(codes) for codes in reading.conditions]
        answers = answers.answering(chosen)
        facts = known.facts(answers)
        await request.state.turn()  # reading a large bundle takes as long as an answer
        answer = _recommended(chosen, drafted, answers, facts)
        used = _used(answer)
        reading = replace(reading, unknown=sum(code not in used for code in chosen))
        for outcome, entries in reading.counts.items():
            self.metrics.read(outcome, entries)
        left = [one for one in answer["recommendations"] if not _is_drafted(one["code"], drafted)][:TOP]
        cards = [card_of(left, answer, facts, reading, context, self.root)] if left else []
        if known.finished and (checked := audit_card_of(_findings(chosen, answers, facts), self.root)):
            cards.append(checked)
        read = {**reading.counts, "complete": reading.complete}
        return reply({"cards": cards, "extension": {_EXTENSION: read}})


def _read(hook: Hook) -> tuple[Reading, Known, frozenset[str], messages.Context]:
    """What the answer needs of a request: its conditions, what else is known, its drafts, and whom it is about.

    The request itself takes ten times its size in memory, too much to keep while others have their turn.
    """
    about = messages.Context(patientId=hook.context.patientId, encounterId=hook.context.encounterId)
    conditions, given = _prefetched(hook), hook.prefetch or messages.Prefetch()
    today = datetime.now(UTC).date()
    known = read_known(given.patient, given.encounter, given.procedures, conditions, today)
    return read_conditions(conditions), known, _drafted(hook), about


def _prefetched(hook: Hook) -> list[Any]:
    """The conditions that the record system sent along. Without any there is no answer, as nothing is fetched.

    An OperationOutcome reports that the record system's own query failed; it is no prefetch either.
    """
    given = hook.prefetch
    keys = [] if given is None else [key for key in _IN_ORDER if key in given.model_fields_set]
    sent = [getattr(given, key) for key in keys]
    if all(map(is_outcome, sent)):
        raise refuse(
            412,
            "prefetch-missing",
            "Send a prefetch of conditions or encounterConditions; an OperationOutcome is neither.",
        )
    return sent


def _recommended(
    chosen: Sequence[str], drafted: frozenset[str], answers: Answers, facts: Facts
) -> dict[str, Any]:
    """What the model says, deep enough that drafts can be left out; thousands of drafts do not make it deeper."""
    if not chosen:
        return {"diagnoses": [], "recommendations": []}
    top = min(TOP + len(drafted), schemas.MOST_TOP)
    return answers.recommend(list(dict.fromkeys(chosen)), top, **facts)


def _findings(chosen: Sequence[str], answers: Answers, facts: Facts) -> list[dict[str, Any]]:
    """What an audit of the stay finds, if procedures are coded for it."""
    coded = facts.get("coded")
    if not coded or answers.model.files.calibration is None:
        return []
    about: Facts = {**facts, "coded": None}
    found: list[dict[str, Any]] = answers.audit(None, list(dict.fromkeys(chosen)), coded, **about)["findings"]
    return found


def _used(answer: dict[str, Any]) -> set[str]:
    """The codes that the model used: its own, those that similar ones stand in for, and those translated into them."""
    used = {one["code"] for one in answer["diagnoses"] if one["status"] != "unknown"}
    return used | {one["from"] for one in answer.get("mapping", ()) if not used.isdisjoint(one["to"])}


def _is_drafted(code: str, drafted: frozenset[str]) -> bool:
    """Whether a procedure, or a code of a family, is among the drafts."""
    return any(counts_as(one, code) for one in drafted)


def _drafted(hook: Hook) -> frozenset[str]:
    return (
        drafted_procedures(hook.context.draftOrders)
        if isinstance(hook.context, messages.OrderContext)
        else frozenset()
    )


def _example(service: CdsService) -> dict[str, Any]:
    code = {"coding": [{"system": "http://hl7.org/fhir/sid/icd-9-cm", "code": "428.0"}]}
    entry = {"resource": {"resourceType": "Condition", "code": code}}
    return {
        "hook": service.hook,
        "hookInstance": "d1577c69-dfbe-44ad-ba6d-3e05e953b2ea",
        "context": {"userId": "Practitioner/1", "patientId": "1288992", "encounterId": "89284"},
        "prefetch": {"conditions": {"resourceType": "Bundle", "type": "searchset", "entry": [entry]}},
    }
