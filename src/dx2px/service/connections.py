"""A connection with deadlines, which uvicorn's own lacks: for a request to arrive, and for its answer to be read.

There is no timer per request: a connection notes since when it has been waiting, and the server checks all
connections twice a second (`cut_slow`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from dx2px.service import problems
from dx2px.service.config import Limits
from dx2px.service.problems import Problem

_NOT_HTTP = Problem(400, "not-http", "The request cannot be read as HTTP.")
_LONG_HEAD = Problem(431, "head-too-large", "The request's headers are too large.")
_TOO_MANY = Problem(
    503, "busy", "The service has too many connections: try again later.", headers={"retry-after": "1"}
)
_QUEUED = 32  # requests that may wait on one connection, sent before earlier ones were answered
# Bytes of a refused body that are read and dropped, so that the client sees the refusal.
_SURPLUS = 1024 * 1024


class Connection(HttpToolsProtocol):
    """uvicorn's protocol, which also notes how long it has been waiting for its client."""

    limits = Limits()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.receiving_since: float | None = None  # while a request is expected or incomplete
        self.sending_since: float | None = None  # while the client does not read what was sent
        self._head = 0  # bytes of headers that have not ended
        self._dropped = 0
        self._answering: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.receiving_since = self.loop.time()
        if len(self.connections) > self.limits.connections:
            self._end_with(_TOO_MANY)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._head += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._head > self.limits.header:
            self._end_with(_LONG_HEAD)
        if self.cycle is not None and self.cycle.response_complete and self.receiving_since is not None:
            self._dropped += len(data)
            if self._dropped > _SURPLUS:
                self.drop()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.receiving_since = self.loop.time()
        self._dropped = 0

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._head = 0
        if len(self.pipeline) > _QUEUED:
            self.drop()

    def on_body(self, body: bytes) -> None:
        self._head = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self.receiving_since, self._head = None, 0

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.sending_since is None and self.transport.get_write_buffer_size():
            self.sending_since = self.loop.time()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.sending_since = self.loop.time()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.sending_since = None

    def send_400_response(self, msg: str) -> None:
        self._end_with(_NOT_HTTP)

    def cut_if_slow(self, now: float) -> bool:
        """End the connection if its client has kept it waiting too long; returns whether it did."""
        if self.sending_since is not None and not self.transport.get_write_buffer_size():
            self.sending_since = None
        waits = [since for since in (self.receiving_since, self.sending_since) if since is not None]
        if not waits or now - min(waits) < self.limits.receive_seconds:
            return False
        self.drop()
        return True

    def drop(self) -> None:
        """End the connection at once; requests being answered learn of it, so that nothing more is written."""
        self._forget()
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def _forget(self) -> None:
        """uvicorn itself only looks at the request that came last, not at the one being answered."""
        self.pipeline.clear()
        for cycle in (self._answering, self.cycle):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()

    def _end_with(self, problem: Problem) -> None:
        """Refuse before there is a request that the application could answer."""
        body = orjson.dumps(problem.to_dict(None))
        named = {"content-type": problems.MEDIA_TYPE, "content-length": str(len(body)), "connection": "close"}
        head = "".join(f"{name}: {value}\r\n" for name, value in {**named, **problem.headers}.items())
        self._forget()
        self.transport.write(STATUS_LINE[problem.status] + head.encode() + b"\r\n" + body)
        self.transport.close()


def cut_slow(connections: Iterable[Any], now: float) -> int:
    """End the slow connections; returns how many."""
    return sum(one.cut_if_slow(now) for one in list(connections) if isinstance(one, Connection))


def abandon(connections: Iterable[Any]) -> None:
    """End all connections at once, whatever they wait for."""
    for one in list(connections):
        if isinstance(one, Connection):
            one.drop()
