"""Work is done one piece at a time, in order, and what needs no turn is not kept waiting by it."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import pytest

from dx2px.service.metrics import Metrics
from dx2px.service.observation import GONE, Observed
from dx2px.service.turns import Turns

LONG = 0.01  # seconds, more than a piece may take before the connections get their passes
PASSES_OF_A_PROBE = 5  # to accept, make the connection, read, start and answer


def run(*pieces: float, rounds: int = 1) -> list[str]:
    """Workers with pieces of this length, and a probe that arrives with them: what happened, in order."""
    events: list[str] = []

    async def work(turns: Turns, name: str, seconds: float) -> None:
        for _ in range(rounds):
            await turns.take()
            events.append(name)
            time.sleep(seconds)

    async def probe() -> None:
        for _ in range(PASSES_OF_A_PROBE):
            await asyncio.sleep(0)
        events.append("probe")

    async def together() -> None:
        turns = Turns()
        workers = (work(turns, str(place), seconds) for place, seconds in enumerate(pieces))
        await asyncio.gather(*workers, probe())

    asyncio.run(together())
    return events


def test_a_probe_passes_between_two_long_pieces() -> None:
    assert run(*[LONG] * 20).index("probe") <= 1


def test_pieces_are_taken_in_the_order_of_arrival() -> None:
    events = run(*[LONG] * 5, rounds=3)
    events.remove("probe")
    assert events == list("01234") * 3


def test_short_pieces_take_turns_too() -> None:
    events = run(*[0.0] * 5, rounds=2)
    events.remove("probe")
    assert events == list("01234") * 2


def test_one_that_gives_up_does_not_hold_up_the_others() -> None:
    async def leave() -> list[int]:
        turns, done = Turns(), list[int]()

        async def work(name: int) -> None:
            await turns.take()
            done.append(name)

        tasks = [asyncio.create_task(work(name)) for name in range(4)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        tasks[2].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return done

    assert asyncio.run(leave()) == [1, 3]


@pytest.mark.parametrize("gone", [False, True])
def test_no_work_is_done_for_a_client_that_has_gone(gone: bool, caplog: pytest.LogCaptureFixture) -> None:
    worked: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await scope["state"]["turn"]()
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: Any) -> None:
        worked.append(message["status"])

    scope = {"type": "http", "method": "GET", "path": "/", "extensions": {GONE: lambda: gone}}
    with caplog.at_level(logging.INFO, "dx2px.service"):
        asyncio.run(Observed(app, Metrics())(scope, None, send))  # type: ignore[arg-type]
    assert worked == ([] if gone else [200])
    assert f" {499 if gone else 200} " in caplog.text
    assert "ERROR" not in caplog.text
