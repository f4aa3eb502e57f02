"""The whole service: its routes, and the layers around them."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

from dx2px.service import problems, schemas
from dx2px.service.api import add_api
from dx2px.service.cds import add_cds
from dx2px.service.cds.callers import Callers
from dx2px.service.cds.messages import MODELS as CDS_MODELS
from dx2px.service.config import ServiceConfig
from dx2px.service.contract import describe
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
    schemas.CodesAnswer,
    schemas.RecommendAnswer,
    schemas.ExplainAnswer,
    schemas.AuditAnswer,
    schemas.NeighborsAnswer,
    schemas.ModelAnswer,
    schemas.Health,
    schemas.ProblemReport,
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
    callers = None if config.callers_file is None else Callers.load(config.callers_file, config.root)
    app = FastAPI(
        title="dx2px", version=__version__, docs_url=None, redoc_url=None, openapi_url="/openapi.json"
    )
    add_health(app, metrics)
    add_api(app, served)
    add_cds(app, served, metrics, config.root, callers)
    add_page(app, config.page)
    describe(app, _MODELS + CDS_MODELS, config.token is not None, "dx2px", __version__)
    app.add_exception_handler(ProblemError, _problem)
    app.add_exception_handler(RequestValidationError, _wrong_parameters)
    app.add_exception_handler(HTTPException, _plain)
    _add_layers(app, config, metrics, callers is not None)
    return app


def _add_layers(app: FastAPI, config: ServiceConfig, metrics: Metrics, cds_callers: bool) -> None:
    """The last one added is the outermost."""
    app.add_middleware(Gate, config=config, metrics=metrics, cds_callers=cds_callers)
    if config.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(config.origins),
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type"],
        )
    app.add_middleware(Observed, metrics=metrics)


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)
    return error.problem.response(request.state.request_id)


async def _wrong_parameters(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return problems.invalid(error.errors(), _PARAMETERS).problem.response(request.state.request_id)


async def _plain(request: Request, error: Exception) -> Response:
    """What the router itself refuses. Its headers are kept: Allow says which methods are accepted."""
    assert isinstance(error, HTTPException)
    kind, detail = _DETAILS.get(error.status_code, ("refused", "The request cannot be answered."))
    problem = Problem(error.status_code, kind, detail, headers=error.headers or {})
    return problem.response(request.state.request_id)
