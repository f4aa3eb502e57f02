"""Limits while reading and while working, tried on the layer alone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from dx2px.service.config import Limits, ServiceConfig
from dx2px.service.gate import ONCE, Gate
from dx2px.service.metrics import Metrics
from dx2px.service.observation import AGAIN, Observed

SCOPE: dict[str, Any] = {
    "type": "http",
    "method": "POST",
    "path": "/api/recommend",
    "headers": [(b"host", b"localhost")],
}


class Caller:
    """One request: what it sends, and what it is answered."""

    def __init__(self, parts: AsyncIterator[bytes] | None = None, **scope: Any) -> None:
        self.parts, self.scope = parts, SCOPE | scope
        self.status: int | None = None
        self.headers: dict[bytes, bytes] = {}
        self.read = 0

    async def receive(self) -> dict[str, Any]:
        part = b"" if self.parts is None else await anext(self.parts, b"")
        self.read += len(part)
        return {"type": "http.request", "body": part, "more_body": bool(part)}

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], dict(message["headers"])

    async def call(self, app: Observed) -> Caller:
        await app(dict(self.scope), self.receive, self.send)  # type: ignore[arg-type]
        return self


def gated(app: Any, **limits: Any) -> Observed:
    metrics = Metrics()
    return Observed(Gate(app, ServiceConfig(limits=Limits(**limits)), metrics, False), metrics)


async def answer(scope: Any, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"ok"})


async def stream(size: int, parts: int) -> AsyncIterator[bytes]:
    for _ in range(parts):
        yield b" " * size


def test_an_endless_body_is_left_at_its_limit() -> None:
    caller = asyncio.run(Caller(stream(1000, 10**9)).call(gated(answer)))
    assert caller.status == 413
    assert caller.read <= 64 * 1024 + 1000


def test_an_announced_size_is_refused_unread() -> None:
    headers = [(b"host", b"localhost"), (b"content-length", b"99999999999999999999999")]
    caller = asyncio.run(Caller(stream(1000, 1000), headers=headers).call(gated(answer)))
    assert (caller.status, caller.read) == (413, 0)


@pytest.mark.parametrize("name", sorted(ONCE))
@pytest.mark.parametrize("value", [b"localhost", b"chunked", b"0"])
def test_a_header_that_decides_is_sent_once(name: bytes, value: bytes) -> None:
    """Two of the same are refused even if they agree: a proxy may have looked at the other one."""
    headers = [*SCOPE["headers"], (name, value), (b"x-other", b"1"), (b"x-other", b"2"), (name, value)]
    assert asyncio.run(Caller(headers=headers).call(gated(answer))).status == 400


@pytest.mark.parametrize(
    ("coding", "status"),
    [
        (b"chunked", 200),
        (b"Chunked ", 200),
        (b"gzip, chunked", 400),
        (b"chunked, gzip", 400),
        (b"chunked, chunked", 400),
        (b"gzip", 400),
        (b"identity", 400),
        (b"xchunked", 400),
        (b"", 400),
    ],
)
def test_only_chunks_are_undone(coding: bytes, status: int) -> None:
    headers = [(b"host", b"localhost"), (b"transfer-encoding", coding)]
    assert asyncio.run(Caller(stream(10, 1), headers=headers).call(gated(answer))).status == status


def test_all_bodies_together_have_a_limit() -> None:
    """Three callers of 40 kB where 100 kB fit: the memory is given back, so that a fourth is answered."""

    async def run() -> tuple[list[int | None], int | None]:
        app = gated(answer, buffered=100_000)
        gate = asyncio.Event()

        async def slowly() -> AsyncIterator[bytes]:
            yield b" " * 40_000
            await gate.wait()

        waiting = [asyncio.create_task(Caller(slowly()).call(app)) for _ in range(3)]
        await asyncio.sleep(0.01)
        gate.set()
        statuses = [(await task).status for task in waiting]
        return statuses, (await Caller(stream(40_000, 1)).call(app)).status

    statuses, later = asyncio.run(run())
    assert sorted(map(str, statuses)) == ["200", "200", "503"]
    assert later == 200


def test_a_client_that_leaves_gets_no_answer_worked_out() -> None:
    worked = False

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal worked
        worked = True

    async def leave() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    caller = Caller()
    caller.receive = leave  # type: ignore[method-assign]
    asyncio.run(caller.call(gated(app)))
    assert not worked
    assert caller.status == 400


def test_requests_beyond_the_limit_are_told_to_come_again(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> list[Caller]:
        app = gated(answer, concurrency=4)
        callers = [Caller() for _ in range(100)]
        await asyncio.gather(*(caller.call(app) for caller in callers))
        assert (await Caller().call(app)).status == 200
        return callers

    with caplog.at_level(logging.WARNING, "dx2px.service"):
        callers = asyncio.run(run())
    refused = [caller for caller in callers if caller.status == 503]
    assert len(refused) == 96
    assert {caller.headers[b"retry-after"] for caller in refused} == {b"1"}
    assert [record.getMessage() for record in caplog.records] == ["too many requests at a time: 1 refused"]


def test_slow_senders_hold_no_place() -> None:
    async def run() -> tuple[int | None, list[int | None]]:
        app = gated(answer, concurrency=1)
        gate = asyncio.Event()

        async def slowly() -> AsyncIterator[bytes]:
            yield b"{"
            await gate.wait()

        slow = [asyncio.create_task(Caller(slowly()).call(app)) for _ in range(20)]
        await asyncio.sleep(0.01)
        quick = await Caller().call(app)
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        return quick.status, []

    assert asyncio.run(run())[0] == 200


def test_health_is_told_even_when_full() -> None:
    async def run() -> list[int | None]:
        app = gated(answer, concurrency=0)
        health = [await Caller(path=path, method="GET").call(app) for path in ("/livez", "/readyz", "/")]
        return [caller.status for caller in health]

    assert asyncio.run(run()) == [200, 200, 503]


def test_a_new_probe_passes_those_that_ask_again() -> None:
    async def run() -> list[bool]:
        app, done = gated(answer), list[bool]()

        async def probe(again: bool) -> None:
            await Caller(path="/livez", method="GET", extensions={AGAIN: again}).call(app)
            done.append(again)

        await asyncio.gather(*(probe(again=True) for _ in range(50)), probe(again=False))
        return done

    assert asyncio.run(run()).index(False) < 5


def test_an_unforeseen_error_is_told_and_logged_without_its_message(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(scope: Any, receive: Any, send: Any) -> None:
        raise KeyError("CANARY")

    caller = asyncio.run(Caller().call(gated(fail)))
    assert caller.status == 500
    assert "KeyError at fail" in caplog.text
    assert "CANARY" not in caplog.text
