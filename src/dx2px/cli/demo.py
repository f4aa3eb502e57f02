"""The demonstration: a synthetic cohort from nothing, in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dx2px.cli import cohorts
from dx2px.cli.console import remark


def demo(
    out: Annotated[Path, typer.Option(help="Folder for everything the demonstration writes.")] = Path("demo"),
) -> None:
    """Synthesize a cohort, describe it and draw its histograms."""
    cohort = out / "small.parquet"
    cohorts.synthesize(out=cohort)
    cohorts.describe(cohort, plot=out / "histograms.png")
    remark(f"Everything is in {out}. The stays are invented; real tables: dx2px prepare --help.")
