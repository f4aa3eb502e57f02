"""Errors as RFC 9457 problems. A problem says what is wrong and where; it never repeats what was sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Annotated, Any

import orjson
from pydantic import BaseModel, Field, ValidationError
from starlette.responses import Response

from dx2px.service.answer_schemas import Report

MEDIA_TYPE = "application/problem+json"
_SHOWN = 10  # flaws that a problem lists, at most

# In place of pydantic's own messages, some of which quote the input.
_MESSAGES = {
    "missing": "is required",
    "extra_forbidden": "is not a name that is used here",
    "string_type": "must be text",
    "int_type": "must be an integer",
    "int_parsing": "must be an integer",
    "float_type": "must be a number",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have at least {min_length} items",
    "too_long": "must have at most {max_length} items",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
    "string_pattern_mismatch": "is not valid",
    "repeated": "must not repeat an item",
    "reason_missing": "must have a reason or a userComment",
    "suggestions_missing": "must have acceptedSuggestions if the outcome is accepted",
}


class FlawReport(Report):
    pointer: str
    detail: str


class ProblemReport(Report):
    """An error, as in RFC 9457."""

    type: str = Field(examples=["urn:dx2px:problem:invalid-request"])
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    detail: str
    errors: list[FlawReport] | None = None
    request_id: str | None = None


@dataclass(frozen=True)
class Flaw:
    """Where a request is wrong, as a JSON pointer or a parameter's name, and how."""

    pointer: str
    detail: str


@dataclass(frozen=True)
class Problem:
    """The content of an error's answer."""

    status: int
    kind: str  # the last part of its type, a URN
    detail: str
    flaws: tuple[Flaw, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self, request_id: str | None) -> dict[str, Any]:
        """The problem's JSON object."""
        record: dict[str, Any] = {
            "type": f"urn:dx2px:problem:{self.kind}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        if self.flaws:
            record["errors"] = [{"pointer": flaw.pointer, "detail": flaw.detail} for flaw in self.flaws]
        return record if request_id is None else record | {"request_id": request_id}

    def response(self, request_id: str | None = None) -> Response:
        """The answer to send."""
        body = orjson.dumps(self.to_dict(request_id))
        return Response(body, self.status, dict(self.headers), MEDIA_TYPE)


class ProblemError(Exception):
    """Raised anywhere under a request, answered with its problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.kind)
        self.problem = problem


def refuse(status: int, kind: str, detail: str, **headers: str) -> ProblemError:
    """The error to raise for a plain refusal."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ProblemError(Problem(status, kind, detail, headers=named))


def invalid(errors: Sequence[Mapping[str, Any]], names: frozenset[str]) -> ProblemError:
    """The refusal of a request that is not valid, from pydantic's list; only `names` may be shown."""
    flaws = tuple(Flaw(_pointer(error["loc"], names), _message(error)) for error in errors[:_SHOWN])
    more = f" The first {_SHOWN} of {len(errors)} are listed." if len(errors) > _SHOWN else ""
    return ProblemError(Problem(422, "invalid-request", f"The request is not valid.{more}", flaws))


def names_of(model: type[BaseModel]) -> frozenset[str]:
    """The names of all fields of a model and of the models inside it."""
    schema = model.model_json_schema()
    parts = [schema, *schema.get("$defs", {}).values()]
    return frozenset(name for part in parts for name in part.get("properties", {}))


def flaws_of(error: ValidationError) -> list[Mapping[str, Any]]:
    """Pydantic's list of errors without the input."""
    return list(error.errors(include_url=False, include_input=False))


def _pointer(place: Sequence[str | int], names: frozenset[str]) -> str:
    shown = (str(part) if isinstance(part, int) or part in names else "(unknown)" for part in place)
    return "".join(f"/{part}" for part in shown)


def _message(error: Mapping[str, Any]) -> str:
    return _MESSAGES.get(error["type"], "is not valid").format(**error.get("ctx", {}))
