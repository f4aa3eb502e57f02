"""The routes for programs and for the page: codes, recommend, explain, audit, neighbors, model."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import FastAPI, Path, Query, Request
from starlette.responses import Response

from dx2px.answers import Recommendation
from dx2px.answers.defects import AuditSettings
from dx2px.answers.facts import Facts
from dx2px.service import answer_schemas, bodies, schemas
from dx2px.service.contract import BODY, operation
from dx2px.service.served import Served
from dx2px.service.together import Together

_STAY = {"diagnoses": ["428.0", "584.9", "518.81"]}


def add_api(app: FastAPI, served: Served) -> None:
    """Register the routes."""
    routes = _Routes(served)
    for path, method, endpoint, described in (
        (
            "/api/codes",
            "GET",
            routes.codes,
            operation("Find codes by code or words", answer_schemas.CodesAnswer, 422, 503),
        ),
        (
            "/api/recommend",
            "POST",
            routes.recommend,
            operation(
                "Recommend procedures for diagnoses",
                answer_schemas.RecommendAnswer,
                *BODY,
                409,
                body=schemas.RecommendRequest,
                example={**_STAY, "top": 5},
            ),
        ),
        (
            "/api/explain",
            "POST",
            routes.explain,
            operation(
                "Explain how diagnoses lead to procedures",
                answer_schemas.ExplainAnswer,
                *BODY,
                409,
                body=schemas.ExplainRequest,
                example={**_STAY, "procedures": ["96.72", "39.95"]},
            ),
        ),
        (
            "/api/audit",
            "POST",
            routes.audit,
            operation(
                "Audit coded stays",
                answer_schemas.AuditAnswer,
                *BODY,
                409,
                body=schemas.AuditRequest,
                example={"stays": [{"id": "1", **_STAY, "procedures": ["96.72"]}]},
            ),
        ),
        (
            "/api/neighbors/{code}",
            "GET",
            routes.neighbors,
            operation("Find the codes nearest to a code", answer_schemas.NeighborsAnswer, 404, 409, 422, 503),
        ),
        ("/api/model", "GET", routes.model, operation("Describe the model", answer_schemas.ModelAnswer, 503)),
    ):
        app.add_api_route(path, endpoint, methods=[method], **described)


class _Routes:
    """The endpoints. They answer in the event loop: an answer takes about a millisecond, less than handing it to a
    thread would cost the others. An audit of many stays lets other requests pass between two stays."""

    def __init__(self, served: Served) -> None:
        self.served, self.together = served, Together()

    async def codes(
        self,
        q: Annotated[
            str, Query(min_length=1, max_length=100, pattern=schemas.TEXT_PATTERN, examples=["heart fail"])
        ],
        kind: schemas.Kind = "diagnosis",
        limit: Annotated[int, Query(ge=1, le=schemas.MOST_TOP)] = 20,
    ) -> Response:
        return reply(self.served.answers.codes(q, kind, limit))

    async def recommend(self, request: Request) -> Response:
        body = await bodies.read(request, schemas.RecommendRequest)
        answers = self.served.answers.answering(body.diagnoses, body.answer_in)
        many = body.top, body.coverage, body.map
        asked = answers.question(body.diagnoses, None, *many, "own", _facts(body))
        found = await self.together.explain(answers, asked, request.state.turns)
        return reply(Recommendation.of(found).to_dict())

    async def explain(self, request: Request) -> Response:
        body = await bodies.read(request, schemas.ExplainRequest)
        answers = self.served.answers.answering(body.diagnoses, body.answer_in)
        many = body.top, body.coverage, body.map, body.plan, _facts(body)
        asked = answers.question(body.diagnoses, body.procedures, *many)
        return reply((await self.together.explain(answers, asked, request.state.turns)).to_dict())

    async def audit(self, request: Request) -> Response:
        body = await bodies.read(request, schemas.AuditRequest)
        served, settings = self.served.answers, AuditSettings(kinds=tuple(body.kinds))
        audited = []
        for stay in body.stays:
            await request.state.turn()
            answers = served.auditing(stay.diagnoses, stay.procedures, body.answer_in)
            codes = stay.diagnoses, stay.procedures
            audited.append(answers.audit(stay.id, *codes, settings, body.map, **_facts(stay)))
        return reply({"stays": audited})

    async def neighbors(
        self,
        code: Annotated[
            str, Path(min_length=1, max_length=64, pattern=schemas.CODE_PATTERN, examples=["428.0"])
        ],
        top: Annotated[int, Query(ge=1, le=schemas.MOST_TOP)] = 10,
    ) -> Response:
        return reply(self.served.answers.neighbors(code, top))

    async def model(self) -> Response:
        return reply({"name": self.served.name, **self.served.answers.describe()})


def _facts(body: schemas.StayFacts) -> Facts:
    """What a request tells besides the diagnoses; an empty list tells nothing."""
    facts: Facts = {
        "principal": body.principal,
        "age": body.age,
        "sex": body.sex,
        "admission": body.admission,
    }
    if isinstance(body, schemas.OpenStayFacts):
        facts["coded"] = body.coded or None
    return facts


def reply(value: Any) -> Response:
    """A value as JSON."""
    return Response(orjson.dumps(value), media_type="application/json")
