"""Reads a request's bytes as a checked body."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from dx2px.service import problems, strict_json
from dx2px.service.problems import refuse

Body = TypeVar("Body", bound=BaseModel)
_MOST_FLAWS = 1000  # listing a hundred thousand would keep other callers waiting
_NAMES: dict[type[BaseModel], frozenset[str]] = {}


async def read(request: Request, model: type[Body]) -> Body:
    """The request's body as `model`, or a problem."""
    _check_type(request.headers.get("content-type", ""))
    _check_encoding(request.headers.get("content-encoding", ""))
    try:
        sent = strict_json.loads(await request.body())
    except strict_json.NotJsonError as error:
        raise refuse(400, "not-json", str(error)) from None
    return checked(sent, model)


def checked(sent: Any, model: type[Body]) -> Body:
    """What was sent as `model`, or a problem."""
    try:
        return model.model_validate(sent)
    except ValidationError as error:
        if error.error_count() > _MOST_FLAWS:
            raise refuse(
                422, "invalid-request", f"The request is not valid in more than {_MOST_FLAWS:,} places."
            ) from None
        raise problems.invalid(problems.flaws_of(error), _names(model)) from None


def _check_type(content_type: str) -> None:
    media, _, parameters = content_type.partition(";")
    charset = parameters.strip().lower().replace('"', "").replace(" ", "")
    if media.strip().lower() != "application/json" or charset not in ("", "charset=utf-8"):
        raise refuse(415, "wrong-content-type", "Send the body as application/json, in UTF-8.")


def _check_encoding(content_encoding: str) -> None:
    if content_encoding.strip().lower() not in ("", "identity"):
        raise refuse(415, "encoded-body", "Send the body as it is, without Content-Encoding.")


def _names(model: type[BaseModel]) -> frozenset[str]:
    if model not in _NAMES:
        _NAMES[model] = problems.names_of(model)
    return _NAMES[model]
