"""The whole service: its routes, and the layers around them."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.routing import Match

from dx2px.service import answer_schemas, problems, schemas
from dx2px.service.api import add_api
from dx2px.service.cds import add_cds
from dx2px.service.cds.callers import Callers
from dx2px.service.cds.messages import MODELS as CDS_MODELS
from dx2px.service.cds.used_ids import UsedIds
from dx2px.service.config import ServiceConfig
from dx2px.service.contract import describe
from dx2px.service.direct import Direct
from dx2px.service.gate import Gate
from dx2px.service.health import add_health
from dx2px.service.metrics import Metrics
from dx2px.service.observation import Observed
from dx2px.service.pages import add_page
from dx2px.service.problems import Problem, ProblemError
from dx2px.service.served import Served
from dx2px.version import __version__

_MODELS = (
    schemas.RecommendRequest,
    schemas.ExplainRequest,
    schemas.AuditRequest,
    answer_schemas.CodesAnswer,
    answer_schemas.RecommendAnswer,
    answer_schemas.ExplainAnswer,
    answer_schemas.AuditAnswer,
    answer_schemas.NeighborsAnswer,
    answer_schemas.ModelAnswer,
    answer_schemas.Health,
    problems.ProblemReport,
)
_PARAMETERS = frozenset({"query", "path", "q", "kind", "limit", "code", "top"})
_DETAILS = {
    404: ("not-found", "There is nothing at this address."),
    405: ("method-not-allowed", "This address does not accept this method."),
}


def create_app(
    served: Served, config: ServiceConfig | None = None, metrics: Metrics | None = None
) -> FastAPI:
    """The ASGI application around a loaded model."""
    config, metrics = config or ServiceConfig(), metrics or Metrics()
    metrics.watch(served)
    callers = None
    if config.callers_file is not None:
        callers = Callers.load(config.callers_file, config.root, UsedIds(config.shared))
    app = FastAPI(
        title="dx2px",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        # A redirect would name scheme and host as the request has them: behind a proxy that handles TLS, a client
        # would send its body again, in clear.
        redirect_slashes=False,
    )
    add_health(app, metrics)
    add_api(app, served)
    add_cds(app, served, metrics, config.root, callers)
    add_page(app, config.page)
    _answer_head(app)
    describe(app, _MODELS + CDS_MODELS, config.token is not None, "dx2px", __version__)
    app.add_exception_handler(ProblemError, _problem)
    app.add_exception_handler(RequestValidationError, _wrong_parameters)
    app.add_exception_handler(HTTPException, _plain)
    _add_layers(app, config, metrics, callers is not None)
    return app


def _answer_head(app: FastAPI) -> None:
    """Let every address that answers GET answer HEAD too: monitors and proxies ask so. The server drops the body."""
    for route in list(app.routes):
        if isinstance(route, APIRoute) and route.methods == {"GET"}:
            app.add_api_route(
                route.path, route.endpoint, methods=["HEAD"], include_in_schema=False, response_model=None
            )


def _add_layers(app: FastAPI, config: ServiceConfig, metrics: Metrics, cds_callers: bool) -> None:
    """The last one added is the outermost."""
    app.add_middleware(Direct, routes=tuple(app.routes))
    app.add_middleware(Gate, config=config, metrics=metrics, cds_callers=cds_callers)
    if config.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(config.origins),
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type"],
            allow_private_network=True,  # these origins may call a service on the user's machine or in the hospital
        )
    app.add_middleware(Observed, metrics=metrics)


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)
    return error.problem.response(request.state.request_id)


async def _wrong_parameters(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return problems.invalid(error.errors(), _PARAMETERS).problem.response(request.state.request_id)


async def _plain(request: Request, error: Exception) -> Response:
    """What the router itself refuses."""
    assert isinstance(error, HTTPException)
    kind, detail = _DETAILS.get(error.status_code, ("refused", "The request cannot be answered."))
    headers = {"allow": _allowed(request)} if error.status_code == 405 else error.headers or {}
    return Problem(error.status_code, kind, detail, headers=headers).response(request.state.request_id)


def _allowed(request: Request) -> str:
    """The methods of all routes at an address; the router itself names those of the first route alone."""
    matching = (route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE)
    return ", ".join(sorted({method for route in matching for method in route.methods or ()}))
