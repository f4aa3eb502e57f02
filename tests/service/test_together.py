"""Questions that wait together are answered in one pass, in the bytes that each would have alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from dx2px.answers.asking import Asked
from dx2px.service.answers import Answers
from dx2px.service.app import create_app
from dx2px.service.served import Served
from dx2px.service.together import _MOST, _MOST_CODES, Together
from dx2px.service.turns import Turns

BODIES = [
    {"diagnoses": ["428.0"], "top": 3},
    {"diagnoses": ["428.0", "250.00"]},
    {"diagnoses": ["250.00"], "coverage": 0.8},
    {"diagnoses": ["999.9"]},  # not known: an answer, too
    {"diagnoses": []},  # a problem
    {"diagnoses": ["250.00", "428.0", "V45.81"], "top": 1},
]


async def asked(app: Any, path: str, body: Any) -> tuple[int, bytes]:
    """Status and bytes of an answer."""
    told: list[Any] = []
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": path, "headers": headers, "query_string": b""}

    async def receive() -> Any:
        return {"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}

    async def send(message: Any) -> None:
        told.append(message)

    await app(scope, receive, send)
    return told[0]["status"], told[1]["body"]


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many questions were answered in each pass."""
    found: list[int] = []
    real = Answers.explain_each

    def watched(self: Answers, questions: Sequence[Asked]) -> Any:
        found.append(len(questions))
        return real(self, questions)

    monkeypatch.setattr(Answers, "explain_each", watched)
    return found


@pytest.mark.parametrize("path", ["/api/recommend", "/api/explain"])
def test_the_bytes_are_those_of_each_alone(served: Served, passes: list[int], path: str) -> None:
    async def both() -> None:
        app = create_app(served)
        bodies = BODIES * 4
        together = await asyncio.gather(*(asked(app, path, body) for body in bodies))
        assert max(passes) == _MOST
        passes.clear()
        alone = [await asked(app, path, body) for body in bodies]
        assert set(passes) == {1}
        # A problem names its request.
        assert [one for one in together if one[0] == 200] == [one for one in alone if one[0] == 200]
        assert [status for status, _ in together] == [status for status, _ in alone]

    asyncio.run(both())


def test_costly_questions_are_not_put_together(served: Served, passes: list[int]) -> None:
    large = {"diagnoses": [f"{number}.{digit}" for number in range(401, 421) for digit in range(10)]}
    assert len(large["diagnoses"]) == _MOST_CODES

    async def ask() -> None:
        app = create_app(served)
        await asyncio.gather(*(asked(app, "/api/recommend", large) for _ in range(5)))

    asyncio.run(ask())
    assert passes == [1] * 5


def test_a_failure_is_of_its_question_alone(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Answers.explain_each

    def failing(self: Answers, questions: Sequence[Asked]) -> Any:
        if any(one.top == 7 for one in questions):
            raise ZeroDivisionError
        return real(self, questions)

    monkeypatch.setattr(Answers, "explain_each", failing)

    async def ask() -> None:
        app = create_app(served)
        bodies = [BODIES[0], BODIES[0] | {"top": 7}, BODIES[0], BODIES[0]]
        found = await asyncio.gather(*(asked(app, "/api/recommend", body) for body in bodies))
        assert [status for status, _ in found] == [200, 500, 200, 200]

    asyncio.run(ask())


def test_a_question_does_not_wait_for_those_that_come_after_it(served: Served) -> None:
    """An audit takes a turn for each of its stays, so somebody always waits."""
    question = served.answers.question(["428.0"], None, 3, None, True, "own", {})

    async def ask() -> None:
        turns, together, taken = Turns(), Together(), 0

        async def audit() -> None:
            nonlocal taken
            while taken < 1000:
                await turns.take()
                taken += 1

        async def one() -> None:
            await turns.take()
            await together.explain(served.answers, question, turns)

        work = asyncio.create_task(audit())
        while not taken:
            await asyncio.sleep(0)
        await one()
        assert taken < 10
        work.cancel()

    asyncio.run(ask())


def test_one_that_gives_up_leaves_the_others_their_answers(served: Served) -> None:
    question = served.answers.question(["428.0"], None, 3, None, True, "own", {})

    async def ask() -> None:
        turns, together = Turns(), Together()

        async def one() -> Any:
            await turns.take()
            return await together.explain(served.answers, question, turns)

        tasks = [asyncio.create_task(one()) for _ in range(5)]
        while not together._waiting:
            await asyncio.sleep(0)
        tasks[0].cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(found[0], asyncio.CancelledError)
        assert len({str(one.to_dict()) for one in found[1:]}) == 1

    asyncio.run(ask())
