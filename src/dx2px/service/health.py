"""The routes for whoever runs the service: alive, ready, metrics."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.responses import Response

from dx2px.service import answer_schemas
from dx2px.service import metrics as figures
from dx2px.service.api import reply
from dx2px.service.contract import operation
from dx2px.service.metrics import Metrics


def add_health(app: FastAPI, metrics: Metrics) -> None:
    """Register the routes. The app is built around a loaded and tested model, so it is ready from the start."""

    async def livez() -> Response:
        return reply({"status": "alive"})

    async def readyz() -> Response:
        return reply({"status": "ready"})

    async def prometheus() -> Response:
        return Response(metrics.render(), media_type=figures.MEDIA_TYPE)

    app.add_api_route("/livez", livez, **operation("Is the service alive?", answer_schemas.Health))
    app.add_api_route(
        "/readyz", readyz, **operation("Is the model loaded and tested?", answer_schemas.Health)
    )
    shown = operation("Metrics for Prometheus", None)
    shown["responses"][200]["content"] = {"text/plain": {"schema": {"type": "string"}}}
    app.add_api_route("/metrics", prometheus, **shown)
