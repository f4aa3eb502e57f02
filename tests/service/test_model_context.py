"""The tools of `dx2px mcp`, asked by the protocol's own client over standard input and output, and in process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from dx2px.answers.results import SCOPE
from dx2px.service.served import Served

mcp = pytest.importorskip("mcp", reason="mcp is not installed")
STAY = {"diagnoses": ["428.0", "584.9"]}


def asked(server: Any, *calls: tuple[str, dict[str, Any]]) -> tuple[Any, list[Any]]:
    """What the client learns of the server and its tools, and the results of calls, in one session."""

    async def talk() -> tuple[Any, list[Any]]:
        async with mcp.Client(server) as client:
            tools = (await client.list_tools()).tools
            return (client.instructions, tools), [await client.call_tool(*call) for call in calls]

    return anyio.run(talk)


def refusal(result: Any) -> str:
    assert result.is_error
    assert result.structured_content is None
    text: str = result.content[0].text
    return text


def test_the_tools_give_the_answers_of_the_service(served: Served, model_folder: Path) -> None:
    """One conversation with the real command: what it offers, and each answer as the service gives it."""
    command = [sys.executable, "-m", "dx2px", "mcp", "--model", str(model_folder)]
    started = mcp.StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    stay = {"id": "7", **STAY, "procedures": ["96.04"]}
    (instructions, tools), results = asked(
        started,
        ("find", {"query": "heart fail"}),
        ("recommend", {**STAY, "top": 2}),
        ("explain", {**STAY, "procedures": ["96.04"]}),
        ("audit", {"stays": [stay]}),
    )
    assert SCOPE in instructions
    assert [tool.name for tool in tools] == ["find", "recommend", "complete", "explain", "audit"]
    assert all(tool.annotations.read_only_hint and SCOPE in tool.description for tool in tools)
    answers = served.answers
    expected = [
        answers.codes("heart fail", "diagnosis", 10),
        answers.recommend(STAY["diagnoses"], 2),
        answers.explain(STAY["diagnoses"], ["96.04"], 5),
        {"stays": [answers.audit("7", STAY["diagnoses"], ["96.04"])]},
    ]
    for result, answer in zip(results, expected, strict=True):
        assert not result.is_error, result.content
        assert result.structured_content == json.loads(json.dumps({"scope": SCOPE, **answer}))
        assert json.loads(result.content[0].text) == result.structured_content


def test_refusals_say_what_is_wrong_and_repeat_nothing(served: Served) -> None:
    from dx2px.service.model_context import build_server

    secret = "MRN12345"
    many = [f"{number}.0" for number in range(100, 301)]
    _, results = asked(
        build_server(served.answers),
        ("recommend", {"diagnoses": many}),
        ("recommend", {"diagnoses": ["428.0"], secret: 1}),
        ("recommend", {"diagnoses": ["428.0"], "age": 70}),
        ("complete", STAY),
        ("audit", {"stays": [{**STAY, "procedures": [], "sex": secret}]}),
        (secret, {}),
    )
    said = [refusal(result) for result in results]
    assert said[0] == "The request is not valid. /diagnoses must have at most 200 items."
    assert said[1] == "The request is not valid. /(unknown) is not a name that is used here."
    assert said[3] == "The request is not valid. /coded is required."
    assert said[4] == "The request is not valid. /stays/0/sex must be 'F' or 'M'."
    assert said[5].startswith("There is no such tool; there are find, recommend")
    assert secret not in " ".join(said)


def test_complete_counts_what_is_coded(evidence_folder: Path) -> None:
    from dx2px.service.answers import Answers
    from dx2px.service.model_context import build_server

    answers = Answers.load(evidence_folder)
    diagnosis, coded = answers.model.files.diagnoses[0], answers.model.files.procedures[0]
    asks = {"diagnoses": [diagnosis], "coded": [coded], "age": 0, "top": 3}
    _, [result] = asked(build_server(answers), ("complete", asks))
    assert result.structured_content["recommendations"]
    assert result.structured_content == {
        "scope": SCOPE,
        **answers.recommend([diagnosis], 3, coded=[coded], age=0),
    }
    assert coded not in [one["code"] for one in result.structured_content["recommendations"]]


def test_the_system_of_the_answer_is_chosen_as_over_http() -> None:
    from dx2px.answers.shipped import model_path
    from dx2px.service.answers import Answers
    from dx2px.service.model_context import build_server

    asks = ({"diagnoses": ["M17.11"], "top": 1, **more} for more in ({}, {"answer_in": "icd9pcs"}))
    stay = {"diagnoses": ["M17.11"], "procedures": ["0SRC0J9", "5A1D70Z"]}
    questions = [
        *(("recommend", ask) for ask in asks),
        ("audit", {"stays": [stay], "kinds": ["unsupported"]}),
    ]
    _, [*results, audit] = asked(build_server(Answers.load(model_path())), *questions)
    codes = [result.structured_content["recommendations"][0]["code"] for result in results]
    assert codes == ["icd10pcs:0SR[CDTUVW]", "icd9pcs:8154"]
    (audited,) = audit.structured_content["stays"]
    assert [one["code"] for one in audited["findings"]] == ["icd10pcs:5A1D"]


def test_a_missing_extra_is_named() -> None:
    blocked = "import sys; sys.modules['mcp'] = None; from dx2px.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", blocked, "mcp"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == "dx2px: This command needs mcp, which is not installed: pip install 'dx2px[mcp]'.\n"
