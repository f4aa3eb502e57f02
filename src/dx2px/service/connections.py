"""A connection with deadlines, which uvicorn's own lacks: for a request to arrive, and for its answer to be read.

There is no timer per request: a connection notes since when it has been waiting, and the server checks all
connections twice a second (`cut_slow`). Answers that are not read are held in memory only up to a limit: beyond it
the client that has not read for longest is cut off.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Iterable
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from dx2px.service import problems
from dx2px.service.config import Limits
from dx2px.service.observation import AGAIN, GONE
from dx2px.service.problems import Problem

_NOT_HTTP = Problem(400, "not-http", "The request cannot be read as HTTP.")
_LONG_HEAD = Problem(431, "head-too-large", "The request's headers are too large.")
_MANY_HEADERS = Problem(431, "head-too-large", "The request has too many headers.")
_MANY_PARTS = Problem(400, "too-many-chunks", "The body is sent in too many small chunks.")
_TOO_MANY = Problem(
    503, "busy", "The service has too many connections: try again later.", headers={"retry-after": "1"}
)
_QUEUED = 32  # requests that may wait on one connection, sent before earlier ones were answered
# Each header and each chunk is a call from the parser, outside of all turns: thousands of them hold up everybody.
_MOST_HEADERS = 100
_MOST_PARTS = 4096  # of a body: its chunks, or what was read of it at a time
_READ = 8 * 1024  # bytes that are read and parsed before the other connections have their turn
# Bytes of a refused body that are read and dropped, so that the client sees the refusal.
_SURPLUS = 1024 * 1024
_CLOSE = (b"connection", b"close")


class UnreadableError(Exception):
    """Stops the parser inside what it was given."""


class State(ServerState):
    """What the connections of a server share."""

    def __init__(self) -> None:
        super().__init__()
        self.stopping = False  # whether each answer is the last one of its connection
        # The connections whose clients do not read, in the order in which they stopped.
        self.unread: dict[Connection, None] = {}
        self.cut = 0  # connections dropped for that

    def cut_unread(self, limit: int) -> None:
        """Drop clients that do not read, those that stopped first, until the rest is within the limit."""
        held = sum(one.transport.get_write_buffer_size() for one in self.unread)
        for one in list(self.unread):
            if held <= limit:
                return
            held -= one.transport.get_write_buffer_size()
            one.drop()
            self.cut += 1


class Joined:
    """The transport of one answer: its head leaves together with what follows, in one packet and one call."""

    def __init__(self, transport: asyncio.Transport, cycle: RequestResponseCycle) -> None:
        self._transport, self._cycle = transport, cycle
        self._head: bytes | None = None
        self.is_closing = transport.is_closing

    def write(self, data: bytes) -> None:
        if self._head is None and self._cycle.response_started:  # before that, an interim answer
            self._head = data
        else:
            self._transport.write(self._head + data if self._head else data)
            self._head = self._head and b""

    def flush(self) -> None:
        """Send a head that nothing followed."""
        if self._head:
            self.write(b"")

    def close(self) -> None:
        self.flush()
        self._transport.close()


class Connection(HttpToolsProtocol):
    """uvicorn's protocol, which also notes how long it has been waiting for its client."""

    limits = Limits()
    most_unread = 64 * 1024 * 1024  # bytes of answers, over all connections
    server_state: State

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.receiving_since: float | None = None  # while a request is expected or incomplete
        self.sending_since: float | None = None  # while the client does not read what was sent
        self._head = 0  # bytes of headers that have not ended
        self._parts = 0  # of the body
        self._flaw = _NOT_HTTP  # why the parser stops, if it does
        self._dropped = 0
        self._used = False  # whether a request has been answered
        self._answering: RequestResponseCycle | None = None
        self._joined: Joined | None = None  # what it writes to
        self._postponed: tuple[RequestResponseCycle, Any] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.max_size = _READ  # type: ignore[attr-defined]
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
        self._dropped = self._parts = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        if len(self.headers) > _MOST_HEADERS:
            self._stop_parser(_MANY_HEADERS)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._head = 0
        # Trailers, which follow the body, go into a list of their own: the headers have been checked by then.
        self.headers = []
        if len(self.pipeline) > _QUEUED:
            self.drop()
            raise UnreadableError

    def on_body(self, body: bytes) -> None:
        self._head = 0
        self._parts += 1
        if self._parts > _MOST_PARTS:
            self._stop_parser(_MANY_PARTS)
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self.receiving_since, self._head = None, 0
        if not self.pipeline:
            # A large body has paused reading, but only a connection that is read notices that its client leaves.
            self.flow.resume_reading()

    def on_response_complete(self) -> None:
        if self._joined is not None:
            self._joined.flush()
        super().on_response_complete()
        if self.sending_since is None and self.transport.get_write_buffer_size():
            self.sending_since = self.loop.time()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.sending_since = self.loop.time()
        self.server_state.unread[self] = None
        self.server_state.cut_unread(self.most_unread)

    def resume_writing(self) -> None:
        super().resume_writing()
        self.sending_since = None
        self.server_state.unread.pop(self, None)
        if self._postponed is not None:
            request, self._postponed = self._postponed, None
            self._start_asgi_task(*request)

    def shutdown(self) -> None:
        """As uvicorn does, but a request that has arrived and was not read yet is still answered."""
        idle = self.cycle is None or self.cycle.response_complete
        if not idle:
            _make_last(self.cycle)
        elif not self._has_input():
            super().shutdown()

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():
            self._end_with(self._flaw)

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
        """Begin to answer a request, once the client has read the answer before it."""
        self._answering = cycle
        if self.flow.write_paused:
            self._postponed = cycle, app
            return
        if self.server_state.stopping and not self.pipeline:
            _make_last(cycle)
        known = {GONE: lambda: cycle.disconnected, AGAIN: self._used}
        cycle.scope["extensions"] = known  # type: ignore[typeddict-item]
        self._used = True
        self._joined = cycle.transport = Joined(self.transport, cycle)  # type: ignore[assignment]
        super()._start_asgi_task(cycle, app)

    def _stop_parser(self, problem: Problem) -> None:
        self._flaw = problem
        raise UnreadableError

    def _has_input(self) -> bool:
        """Whether the system holds bytes of the client that were not read yet."""
        with selectors.DefaultSelector() as system:
            system.register(self.transport.get_extra_info("socket"), selectors.EVENT_READ)
            return bool(system.select(0))

    def _forget(self) -> None:
        """uvicorn itself only looks at the request that came last, not at the one being answered."""
        self.pipeline.clear()
        self._postponed = None
        self.server_state.unread.pop(self, None)
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


def _make_last(cycle: RequestResponseCycle) -> None:
    """Close the connection after an answer, and say so in it: older versions of uvicorn close without a word."""
    cycle.keep_alive = False
    if _CLOSE not in cycle.default_headers:
        cycle.default_headers = [*cycle.default_headers, _CLOSE]


def cut_slow(connections: Iterable[Any], now: float) -> int:
    """End the slow connections; returns how many."""
    return sum(one.cut_if_slow(now) for one in list(connections) if isinstance(one, Connection))


def abandon(connections: Iterable[Any]) -> None:
    """End all connections at once, whatever they wait for."""
    for one in list(connections):
        if isinstance(one, Connection):
            one.drop()
