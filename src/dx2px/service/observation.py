"""The outermost layer: every request gets an id, a line in the log, a place in the metrics, and security headers.

`scope["state"]` has the `request_id`, `turn`, which a request awaits before each piece of its work,
and the `turns` of all.

A line has method, route template, status, milliseconds and id. Paths, query strings, bodies, headers and addresses
are never logged. For an unforeseen error the log has its type and the places in the code, not its message.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
import traceback
from collections.abc import MutableMapping
from functools import partial
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dx2px.service.metrics import Metrics
from dx2px.service.problems import Problem
from dx2px.service.turns import ClientGoneError, Turns

log = logging.getLogger("dx2px.service")
access = logging.getLogger("dx2px.service.access")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SAFETY = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_SAFETY = [(name.encode(), value.encode()) for name, value in SAFETY.items()]
_NO_STORE = (b"cache-control", b"no-store")
_FAILED = Problem(500, "internal-error", "The service failed. Its log has an entry with the request's id.")
UNMATCHED = "(unmatched)"
GONE = "dx2px.gone"  # the extension of a scope that tells whether the client has gone
AGAIN = "dx2px.again"  # the extension that tells whether its connection has been used before
# Refusals for lack of room wait so long. Clients that ask again at once would otherwise leave no time for the work.
_REFUSAL_SECONDS = 0.5
METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE"})


class Observed:
    """ASGI: wraps everything else."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics
        self.turns = Turns()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        started = time.perf_counter()
        request_id = secrets.token_hex(8)
        gone = scope.get("extensions", {}).get(GONE, lambda: False)
        turn = partial(self.turns.take, gone)
        scope["state"] = {"request_id": request_id, "turn": turn, "turns": self.turns}
        sender = _Sender(send, request_id)
        try:
            await self.app(scope, receive, sender)
        except ClientGoneError:
            pass  # its status is 499
        except Exception as error:
            log.error("request %s failed: %s", request_id, _places(error))
            if not sender.started:
                await _FAILED.response(request_id)(scope, receive, sender)
        finally:
            seconds = time.perf_counter() - started
            route = _route(scope)
            method = scope["method"] if scope["method"] in METHODS else "other"
            self.metrics.answered(method, route, sender.status, seconds)
            if (
                sender.status != 503
            ):  # refused for lack of room: counted instead, so that a flood cannot fill the log
                access.info("%s %s %d %.1f %s", method, route, sender.status, 1000 * seconds, request_id)
        await sender.refuse()


class _Sender:
    """Adds headers to an answer and notes its status; 499 means none, because the client has gone."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send, self._id = send, request_id.encode()
        self.status = 499
        self.started = False
        self._refusal: list[Message] = []

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.started = message["status"], True
            headers = message["headers"] = list(message.get("headers", []))
            headers += _SAFETY
            headers.append((b"x-request-id", self._id))
            if all(name != b"cache-control" for name, _ in headers):
                headers.append(_NO_STORE)
        if self.status == 503:
            self._refusal.append(message)
        else:
            await self._send(message)

    async def refuse(self) -> None:
        """Send a refusal for lack of room, if there is one. It waited until the request had given up its memory."""
        if self._refusal:
            await asyncio.sleep(_REFUSAL_SECONDS)
        for message in self._refusal:
            await self._send(message)


def _route(scope: MutableMapping[str, Any]) -> str:
    return getattr(scope.get("route"), "path", UNMATCHED)


def _places(error: BaseException) -> str:
    """The type of an error and where it came from; its message may hold what a caller sent."""
    frames = traceback.extract_tb(error.__traceback__)[-5:]
    where = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames))
    return f"{type(error).__name__} at {where}"
