"""The answers as tools of the Model Context Protocol, by which assistants ask programs, over standard input and output.

The tools read and answer; they change nothing. A question has the form and the limits of the HTTP API, and a refusal
is the same sentence, which repeats nothing of what was asked.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import anyio
from mcp import types
from mcp.server import Server
from mcp.server.stdio import stdio_server
from pydantic import Field

from dx2px.answers.defects import AuditSettings
from dx2px.answers.facts import Facts
from dx2px.answers.results import SCOPE
from dx2px.service import schemas
from dx2px.service.answers import Answers
from dx2px.service.bodies import checked
from dx2px.service.problems import Problem, ProblemError
from dx2px.version import __version__

log = logging.getLogger("dx2px.service")
INSTRUCTIONS = (
    "dx2px knows which procedures were coded together with which diagnoses in hospital stays. Codes are ICD-9-CM, "
    f"ICD-10-CM or ICD-10-PCS, such as 428.0 or icd9cm:4280; look them up with `find`. {SCOPE}"
)


class FindRequest(schemas.Request):
    query: Annotated[str, Field(min_length=1, max_length=100, pattern=schemas.TEXT_PATTERN)] = Field(
        description="Words of the title, whole or just begun, or the start of a code."
    )
    kind: schemas.Kind = "diagnosis"
    top: schemas.Top = 10


class CompleteRequest(schemas.RecommendRequest):
    coded: schemas.Codes = Field(description="The procedures that are coded already.")


@dataclass(frozen=True)
class Tool:
    """A question that can be asked: its words, the form of its arguments, and who answers."""

    title: str
    description: str
    request: type[schemas.Request]
    answer: Callable[[Answers, Any], dict[str, Any]]

    def listed(self, name: str) -> types.Tool:
        """The tool as the protocol describes it."""
        return types.Tool(
            name=name,
            title=self.title,
            description=f"{self.description} {SCOPE}",
            input_schema=self.request.model_json_schema(),
            annotations=types.ToolAnnotations(
                read_only_hint=True, idempotent_hint=True, open_world_hint=False
            ),
        )


def _find(answers: Answers, body: FindRequest) -> dict[str, Any]:
    return answers.codes(body.query, body.kind, body.top)


def _recommend(answers: Answers, body: schemas.RecommendRequest) -> dict[str, Any]:
    answers = answers.answering(body.diagnoses, body.answer_in)
    return answers.recommend(body.diagnoses, body.top, body.coverage, body.map, **_facts(body))


def _explain(answers: Answers, body: schemas.ExplainRequest) -> dict[str, Any]:
    answers = answers.answering(body.diagnoses, body.answer_in)
    many = body.top, body.coverage, body.map, body.plan
    return answers.explain(body.diagnoses, body.procedures, *many, **_facts(body))


def _audit(answers: Answers, body: schemas.AuditRequest) -> dict[str, Any]:
    settings = AuditSettings(kinds=tuple(body.kinds))
    found = []
    for stay in body.stays:
        codes = stay.diagnoses, stay.procedures
        asked = answers.auditing(*codes, body.answer_in)
        found.append(asked.audit(stay.id, *codes, settings, body.map, **_facts(stay)))
    return {"stays": found}


def _facts(body: schemas.StayFacts) -> Facts:
    """What a question tells besides the diagnoses; an empty list tells nothing."""
    told: Any = {name: getattr(body, name, None) or None for name in Facts.__annotations__ if name != "age"}
    return {**told, "age": body.age}  # type: ignore[typeddict-item]  # newborns are 0 years old


TOOLS = {
    "find": Tool(
        "Find ICD codes",
        "Looks up ICD codes by words or by the start of a code; those that the model knows come first.",
        FindRequest,
        _find,
    ),
    "recommend": Tool(
        "Procedures for diagnoses",
        "The procedures that are usually coded with a set of diagnoses, with probabilities and with the share of each "
        "diagnosis in each answer.",
        schemas.RecommendRequest,
        _recommend,
    ),
    "complete": Tool(
        "What else belongs to a stay",
        "The procedures that are usually coded with a set of diagnoses and with procedures that are coded already.",
        CompleteRequest,
        _recommend,
    ),
    "explain": Tool(
        "What leads to a procedure",
        "How much each diagnosis contributes to procedures: those named, or the best ones.",
        schemas.ExplainRequest,
        _explain,
    ),
    "audit": Tool(
        "Check coded stays",
        "What looks wrong in coded stays, such as procedures that nothing supports or that are expected but absent. "
        "A finding is a reason to look, not proof.",
        schemas.AuditRequest,
        _audit,
    ),
}


def build_server(answers: Answers) -> Server[Any]:
    """The server, ready to run over any transport."""

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool.listed(name) for name, tool in TOOLS.items()])

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return _called(answers, params.name, params.arguments or {})

    return Server(
        "dx2px",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def serve(path: str | os.PathLike[str]) -> None:
    """Load a model and answer over standard input and output until the input ends."""
    server = build_server(Answers.load(path))

    async def run() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(run)


def _called(answers: Answers, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
    tool = TOOLS.get(name)
    if tool is None:
        return _refused(f"There is no such tool; there are {', '.join(TOOLS)}.")
    try:
        found = tool.answer(answers, checked(arguments, tool.request))
    except ProblemError as error:
        return _refused(_sentence(error.problem))
    except Exception as error:  # nothing of the question may reach a log
        log.error("a tool failed: %s", type(error).__name__)
        return _refused("The question could not be answered, because of an error in dx2px.")
    answer = {"scope": SCOPE, **found}
    text = types.TextContent(type="text", text=json.dumps(answer, ensure_ascii=False))
    return types.CallToolResult(content=[text], structured_content=answer)


def _refused(sentence: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=sentence)], is_error=True)


def _sentence(problem: Problem) -> str:
    flaws = "; ".join(f"{flaw.pointer or 'the arguments'} {flaw.detail}" for flaw in problem.flaws)
    return f"{problem.detail} {flaws}." if flaws else problem.detail
