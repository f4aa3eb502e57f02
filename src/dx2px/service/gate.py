"""Checks before the routes: headers, trusted hosts, tokens, the size of bodies, how many requests at a time.

A body is read here to its end, counted as it arrives, before its request takes one of the places: slow senders
hold no place. Places are given out after all requests that have just arrived were counted, so that the surplus is
refused instead of waiting in line. Those that have a place work in turns.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dx2px.service.config import Limits, ServiceConfig
from dx2px.service.logs import Sampled
from dx2px.service.metrics import Metrics
from dx2px.service.observation import AGAIN
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
# Headers that decide about a request: of two, one reader would believe the first and another the last.
ONCE = frozenset(
    {
        b"host",
        b"authorization",
        b"origin",
        b"content-type",
        b"content-length",
        b"content-encoding",
        b"transfer-encoding",
    }
)
_HOST = re.compile(rb"(.*?)(?::[0-9]{1,5})?", re.DOTALL)  # the name is then compared as a whole


class Gate:
    """ASGI: refuses requests that the service should not work on."""

    def __init__(self, app: ASGIApp, config: ServiceConfig, metrics: Metrics, cds_callers: bool) -> None:
        self.app, self.limits, self.metrics = app, config.limits, metrics
        self.hosts = config.hosts
        self.token = None if config.token is None else config.token.encode()
        self.cds_callers = cds_callers  # whether CDS Hooks clients show a JWT instead of the token
        self.bodies = _Bodies(config.limits)
        self.busy = 0
        self.probes = asyncio.Lock()
        self.refusals = Sampled(log, "too many requests at a time: %d refused")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in HEALTH:
            if scope.get("extensions", {}).get(AGAIN, False):
                await self._wait_to_probe()
            await self.app(scope, receive, send)
            return
        try:
            await self._pass(scope, receive, send)
        except ProblemError as error:
            await error.problem.response(scope["state"]["request_id"])(scope, receive, send)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        headers = _headers(scope)
        _check_transfer(headers.get(b"transfer-encoding"))
        self._check_host(headers.get(b"host", b""))
        self._check_token(path, headers.get(b"authorization", b""))
        if scope["method"] != "GET":
            _check_upgrade(headers)
            receive = await self.bodies.read(path, headers.get(b"content-length"), receive)
        with self._place():
            await scope["state"]["turn"]()
            await self.app(scope, receive, send)

    async def _wait_to_probe(self) -> None:
        """One at a time for those that ask again and again: hundreds of them would hold up a probe that is new."""
        async with self.probes:
            await asyncio.sleep(0)

    def _check_host(self, host: bytes) -> None:
        match = _HOST.fullmatch(host)
        if match is None or match[1].decode("latin-1").lower() not in self.hosts:
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


def _headers(scope: Scope) -> dict[bytes, bytes]:
    """The headers by name. None of those in `ONCE` may be repeated."""
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in headers and name in ONCE:
            raise refuse(400, "repeated-header", "A header that may be sent only once was sent twice.")
        headers[name] = value
    return headers


def _check_transfer(coding: bytes | None) -> None:
    """A body arrives as it is, or in chunks; what else was done to it would not be undone."""
    if coding is not None and coding.strip().lower() != b"chunked":
        raise refuse(400, "transfer-coding", "The only Transfer-Encoding that is read is chunked.")


def _check_upgrade(headers: dict[bytes, bytes]) -> None:
    """The parser drops the body of a request that wants to change the protocol, as Java's HTTP client does at first."""
    if b"upgrade" in headers and b"upgrade" in headers.get(b"connection", b"").lower():
        raise refuse(400, "upgrade", "The service speaks HTTP/1.1 only: send the request without Upgrade.")


def _too_large(limit: int) -> Exception:
    return refuse(413, "too-large", f"The body may have at most {limit:,} bytes.")
