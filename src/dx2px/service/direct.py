"""Calls of the routes that take a body, answered without the framework.

Such a route reads and checks its request by itself and returns a finished answer. FastAPI would only find out that
there is nothing left to do, in more time than the reading and checking take. It still describes these routes, and
answers whatever else is asked at their addresses.
"""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send


class Direct:
    """ASGI: the innermost layer, just before the framework's routing."""

    def __init__(self, app: ASGIApp, routes: Iterable[BaseRoute]) -> None:
        self.app = app
        ours = (route for route in routes if isinstance(route, APIRoute) and route.methods == {"POST"})
        self.routes = {route.path: route for route in ours}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self.routes.get(scope["path"]) if scope["method"] == "POST" else None
        if route is None:
            await self.app(scope, receive, send)
            return
        scope["route"] = route  # for the log and the metrics, which know only its template
        answer = await route.endpoint(Request(scope, receive))
        await answer(scope, receive, send)
