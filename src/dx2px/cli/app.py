"""The `dx2px` command: its sub-commands, and how errors reach the user."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from dx2px.cli import (
    auditing,
    benchmarks,
    cohorts,
    demo,
    faithfulness,
    learning,
    measuring,
    models,
    population,
    reporting,
    service,
)
from dx2px.errors import Dx2pxError
from dx2px.version import __version__

EXTRA_OF_MODULE = {
    "ibis": "train",
    "duckdb": "train",
    "psycopg": "postgres",
    "pyspark": "spark",
    "google": "bigquery",
    "matplotlib": "train",
    "sklearn": "train",
    "markdown_it": "train",
    "torch": "train",
    "numba": "train",
    "fastapi": "serve",
    "httptools": "serve",
    "jwt": "serve",
    "orjson": "serve",
    "prometheus_client": "serve",
    "pydantic": "serve",
    "starlette": "serve",
    "uvicorn": "serve",
}

app = typer.Typer(
    name="dx2px",
    help="From the diagnoses of a hospital stay to its procedures, with reasons. "
    "It reproduces coding habits found in data; it gives no medical advice.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def show_version(wanted: bool) -> None:
    """Print the version and stop; called before the command line asks for a sub-command."""
    if wanted:
        typer.echo(f"dx2px {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=show_version),
    ] = False,
) -> None:
    pass


app.command()(demo.demo)
app.command()(cohorts.prepare)
app.command()(cohorts.synthesize)
app.command()(cohorts.describe)
app.command()(learning.train)
app.command()(measuring.evaluate)
app.command()(benchmarks.benchmark)
app.command()(benchmarks.sweep)
app.command()(faithfulness.faithfulness)
app.command()(models.models)
app.command()(models.recommend)
app.command()(models.explain)
app.command()(models.neighbors)
app.command()(models.export)
app.command()(population.score)
app.command()(auditing.audit)
app.command()(reporting.report)
app.command()(service.serve)


def main() -> None:
    """Run the command line: exit code 0 when done, 1 when the input was wrong, 2 for wrong usage."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that lacks a character, such as μ on some Windows ones, shows its number.
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except Dx2pxError as error:
        _fail(str(error))
    except ModuleNotFoundError as error:
        extra = EXTRA_OF_MODULE.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        _fail(f"This command needs {error.name}: install dx2px[{extra}].")
    except PermissionError as error:
        _fail(f"No permission for {error.filename}.")
    except OSError as error:
        _fail(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}.")


def _fail(message: str) -> None:
    typer.echo(f"dx2px: {message}", err=True)
    sys.exit(1)
