"""The command that serves a model: serve."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from dx2px.cli.models import ModelOption


def serve(
    model: ModelOption = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any other than loopback needs a token.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port to listen on; 0 chooses a free one.", min=0, max=65535)
    ] = 8000,
    workers: Annotated[
        int, typer.Option(help="Processes that answer; one per core uses them all.", min=1)
    ] = 1,
    token_file: Annotated[
        Path | None, typer.Option(help="File with the token that callers must send (Authorization: Bearer).")
    ] = None,
    trusted_host: Annotated[
        list[str] | None,
        typer.Option(help="A host name that callers may use, besides loopback; can be repeated."),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(help="A web origin whose pages may call the service (CORS); can be repeated."),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="The address under which callers reach the service, for links and JWTs."),
    ] = None,
    cds_callers: Annotated[
        Path | None,
        typer.Option(help="JSON file with the issuers and keys of the JWTs that CDS Hooks calls must carry."),
    ] = None,
    log_requests: Annotated[
        bool,
        typer.Option(
            "--log-requests/--no-log-requests", help="Log one line per request, without codes and bodies."
        ),
    ] = True,
) -> None:
    """Serve a model over HTTP: an API, CDS Hooks and a web page.

    The page is at /. SIGHUP loads the model folder again; SIGTERM stops after the requests in progress.
    Several workers answer at one address; signals and metrics are those of all of them.

    \b
    Examples:
      dx2px serve
      dx2px serve --model MODEL --port 9000
      dx2px serve --workers 4
    """
    # Set before numpy is loaded: the matrix products are small, and threads would only slow them down.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from dx2px.answers.shipped import model_path
    from dx2px.service.config import ServiceConfig, read_token
    from dx2px.service.logs import set_up_logs
    from dx2px.service.served import Served
    from dx2px.service.server import serve as run

    config = ServiceConfig(
        host=host,
        port=port,
        workers=workers,
        token=None if token_file is None else read_token(token_file),
        trusted_hosts=tuple(trusted_host or ()),
        allowed_origins=tuple(allow_origin or ()),
        base_url=base_url,
        callers_file=cds_callers,
    )
    set_up_logs(log_requests)
    run(Served.load(model_path(model)), config)
