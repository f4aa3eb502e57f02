"""Checks before the routes: trusted hosts, tokens, the size of bodies, and how many requests at a time.

A body is read here to its end, counted as it arrives, before its request takes one of the places: slow senders
hold no place. Places are given out after all requests that have just arrived were counted, so that the surplus is
refused at once instead of waiting in line.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dx2px.service.config import Limits, ServiceConfig
from dx2px.service.logs import Sampled
from dx2px.service.metrics import Metrics
from dx2px.service.problems import ProblemError, refuse

log = logging.getLogger("dx2px.service")

HEALTH = frozenset({"/livez", "/readyz"})
GUARDED = (
    "/api/",
    "/cds-services",
    "/metrics",
)  # what needs a token; the page and the OpenAPI document are public
LARGE = ("/api/audit", "/cds-services")
CDS = "/cds-services"


class Gate:
    """ASGI: refuses requests that the service should not work on."""

    def __init__(self, app: ASGIApp, config: ServiceConfig, metrics: Metrics, cds_callers: bool) -> None:
        self.app, self.limits, self.metrics = app, config.limits, metrics
        self.hosts = config.hosts
        self.token = None if config.token is None else config.token.encode()
        self.cds_callers = cds_callers  # whether CDS Hooks clients show a JWT instead of the token
        self.bodies = _Bodies(config.limits)
        self.busy = 0
        self.refusals = Sampled(log, "too many requests at a time: %d refused")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in HEALTH:
            await self.app(scope, receive, send)
            return
        try:
            await self._pass(scope, receive, send)
        except ProblemError as error:
            await error.problem.response(scope["state"]["request_id"])(scope, receive, send)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        headers = dict(scope["headers"])
        self._check_host(headers.get(b"host", b""))
        self._check_token(path, headers.get(b"authorization", b""))
        if scope["method"] != "GET":
            receive = await self.bodies.read(path, headers.get(b"content-length"), receive)
        with self._place():
            await asyncio.sleep(0)
            await self.app(scope, receive, send)

    def _check_host(self, host: bytes) -> None:
        name = host.decode("latin-1").lower()
        bare = name if name.endswith("]") else name.rpartition(":")[0] or name
        if bare not in self.hosts:
            raise refuse(400, "untrusted-host", "The service does not answer to this Host.")

    def _check_token(self, path: str, authorization: bytes) -> None:
        if self.token is None or not path.startswith(GUARDED):
            return
        if self.cds_callers and path.startswith(CDS):
            return
        scheme, _, shown = authorization.partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(shown.strip(), self.token):
            raise refuse(
                401,
                "unauthorized",
                "This needs the service's token: Authorization: Bearer …",
                www_authenticate="Bearer",
            )

    @contextmanager
    def _place(self) -> Iterator[None]:
        if self.busy >= self.limits.concurrency:
            self.refusals.note()
            raise refuse(503, "busy", "The service is too busy: try again later.", retry_after="1")
        self.busy += 1
        self.metrics.under_way(self.busy)
        try:
            yield
        finally:
            self.busy -= 1
            self.metrics.under_way(self.busy)


class _Bodies:
    """Reads bodies up to their limit, and only as many at a time as fit in memory."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.held = 0

    async def read(self, path: str, announced: bytes | None, receive: Receive) -> Receive:
        """A `receive` that returns the whole body at once."""
        limit = self.limits.large_body if path.startswith(LARGE) else self.limits.body
        if announced is not None and announced.isdigit() and int(announced[:20]) > limit:
            raise _too_large(limit)
        body = await self._collect(limit, receive)
        given = False

        async def replay() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        return replay

    async def _collect(self, limit: int, receive: Receive) -> bytes:
        parts: list[bytes] = []
        size = 0
        try:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise refuse(400, "incomplete-request", "The request ended before its body did.")
                part = message.get("body", b"")
                size += len(part)
                self.held += len(part)
                if size > limit:
                    raise _too_large(limit)
                if self.held > self.limits.buffered:
                    raise refuse(503, "busy", "The service is too busy: try again later.", retry_after="1")
                parts.append(part)
                if not message.get("more_body", False):
                    return b"".join(parts)
        finally:
            self.held -= size


def _too_large(limit: int) -> Exception:
    return refuse(413, "too-large", f"The body may have at most {limit:,} bytes.")
