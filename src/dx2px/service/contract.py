"""The OpenAPI document: operations are declared beside their routes, schemas in `schemas` and `answer_schemas`.

Our own strict reader reads the bodies, and answers are plain dictionaries. So FastAPI only describes them; it does
not handle them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.responses import JSONResponse, Response

from dx2px.answers.results import SCOPE
from dx2px.service import problems

_REASONS = {
    400: "The request cannot be read, or its Host is not trusted.",
    401: "The token or the JWT is missing or wrong.",
    404: "The model knows no such code.",
    409: "The model lacks what this answer needs or does not take what was told, or a procedure is coded already.",
    412: "The prefetch is missing, or the record system sent an OperationOutcome instead.",
    413: "The body is too large.",
    415: "The body is not application/json, or it is compressed.",
    422: "The request is not valid.",
    503: "The service is too busy.",
}
BODY = (400, 413, 415, 422, 503)  # what can go wrong with any request that has a body
_REF = "#/components/schemas/{model}"


def operation(
    summary: str,
    answer: type[BaseModel] | None,
    *failures: int,
    body: type[BaseModel] | None = None,
    example: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The arguments of `FastAPI.add_api_route` that describe an operation."""
    responses: dict[int | str, dict[str, Any]] = {200: {"description": "The answer."}}
    if answer is not None:
        responses[200]["content"] = {"application/json": {"schema": _ref(answer)}}
    for status in failures:
        content = {problems.MEDIA_TYPE: {"schema": _ref(problems.ProblemReport)}}
        responses[status] = {"description": _REASONS[status], "content": content}
    extra = None if body is None else {"requestBody": _body(body, example)}
    kind = Response if answer is None else JSONResponse
    return {
        "summary": summary,
        "responses": responses,
        "openapi_extra": extra,
        "response_model": None,
        "response_class": kind,
    }


def describe(
    app: FastAPI, models: tuple[type[BaseModel], ...], guarded: bool, title: str, version: str
) -> None:
    """Give the app its OpenAPI document, which is made once."""
    document: dict[str, Any] = {}

    def openapi() -> dict[str, Any]:
        if not document:
            document.update(get_openapi(title=title, version=version, description=SCOPE, routes=app.routes))
            parts = document.setdefault("components", {})
            _, defined = models_json_schema([(model, "validation") for model in models], ref_template=_REF)
            parts["schemas"] = defined["$defs"]
            if guarded:
                _guard(document)
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def _guard(document: dict[str, Any]) -> None:
    """Say which operations need a token."""
    document["components"]["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
    for path, operations in document["paths"].items():
        if path not in ("/livez", "/readyz"):
            for described in operations.values():
                described["security"] = [{"bearer": []}]
                content = {problems.MEDIA_TYPE: {"schema": _ref(problems.ProblemReport)}}
                described["responses"]["401"] = {"description": _REASONS[401], "content": content}


def _body(model: type[BaseModel], example: Mapping[str, Any] | None) -> dict[str, Any]:
    media: dict[str, Any] = {"schema": _ref(model)}
    if example is not None:
        media["example"] = dict(example)
    return {"required": True, "content": {"application/json": media}}


def _ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REF.format(model=model.__name__)}
