"""The `dx2px` command: its sub-commands, and how errors are shown."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from dx2px.cli import (
    adapting,
    auditing,
    benchmarks,
    cohorts,
    demo,
    faithfulness,
    finding,
    learning,
    mcp,
    measuring,
    models,
    population,
    reporting,
    service,
)
from dx2px.cli.console import remark, stop_signals
from dx2px.cli.help import Command
from dx2px.errors import Dx2pxError
from dx2px.version import __version__

EXTRA_OF_MODULE = {
    "ibis": "train",
    "duckdb": "train",
    "drgpy": "drg",
    "psycopg": "postgres",
    "pyspark": "spark",
    "google": "bigquery",
    "matplotlib": "train",
    "scipy": "train",
    "sklearn": "train",
    "threadpoolctl": "train",
    "markdown_it": "train",
    "torch": "train",
    "numba": "train",
    "fastapi": "serve",
    "httptools": "serve",
    "jwt": "serve",
    "mcp": "mcp",
    "orjson": "serve",
    "prometheus_client": "serve",
    "pydantic": "serve",
    "starlette": "serve",
    "uvicorn": "serve",
}

HELP = """Predict the procedures of a hospital stay from its diagnoses, with reasons.

dx2px reproduces coding habits found in billing data; it is not medical advice.

\b
First steps:
  dx2px demo                                     see everything once
  dx2px recommend 585.6 427.5                    ask the package's model
  dx2px prepare mimic3 FOLDER --out C.parquet    read your own tables
  dx2px adapt C.parquet --out MODEL              let the package's model learn from them
  dx2px train C.parquet --out MODEL              learn from them alone
"""

app = typer.Typer(
    name="dx2px",
    help=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def show_version(wanted: bool) -> None:
    """Print the version and stop; `is_eager` runs this before a sub-command is required."""
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


for command in (
    demo.demo,
    cohorts.prepare,
    cohorts.synthesize,
    cohorts.describe,
    finding.find,
    learning.train,
    adapting.adapt,
    measuring.evaluate,
    benchmarks.benchmark,
    benchmarks.sweep,
    faithfulness.faithfulness,
    models.models,
    models.recommend,
    models.explain,
    models.neighbors,
    models.export,
    population.score,
    auditing.audit,
    reporting.report,
    service.serve,
    mcp.mcp,
):
    app.command(cls=Command)(command)


def main() -> None:
    """Run the command line.

    Exit code 0: done; 1: the input was wrong; 2: wrong usage; 130: stopped by Ctrl-C; 143: ended by SIGTERM.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that lacks a character, as some on Windows lack μ, shows its number instead.
            stream.reconfigure(errors="backslashreplace")
    with stop_signals() as received:
        try:
            app()
        except BaseException as error:
            if received:  # libraries turn a signal into errors of their own
                sys.exit(128 + received[0])
            if not isinstance(error, Exception):
                raise
            _fail(_sentence(error))


def _sentence(error: Exception) -> str:
    """What went wrong, for the user; an error that nobody foresaw is raised again."""
    if isinstance(error, Dx2pxError):
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        extra = EXTRA_OF_MODULE.get((error.name or "").partition(".")[0])
        if extra is None:
            raise error
        return f"This command needs {error.name}, which is not installed: pip install 'dx2px[{extra}]'."
    if isinstance(error, PermissionError):
        return (
            f"There is no permission to use {error.filename}: change its permissions or name another place."
        )
    if isinstance(error, OSError):
        return f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}."
    raise error


def _fail(message: str) -> None:
    remark(f"dx2px: {message}")
    sys.exit(1)
