"""The command that asks a model about a whole file of stays: score."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dx2px.cli.console import INTERRUPTED, counting, remark
from dx2px.cli.models import NOT_ADVICE, ModelOption, load_model
from dx2px.words import counted

if TYPE_CHECKING:
    from dx2px.inference.population_file import ScoredStays


def score(
    stays: Annotated[Path, typer.Argument(help="A cohort, or any Parquet file with stay_id and diagnoses.")],
    out: Annotated[Path, typer.Option(help="The Parquet file to write.")],
    model: ModelOption = None,
    top: Annotated[int, typer.Option(help="How many procedures a stay.", min=1)] = 10,
) -> None:
    """Recommend procedures for every stay of a file; run again after a stop, it goes on where it stood."""
    from dx2px.inference.population_file import StayFile, score_file

    loaded = load_model(model)
    try:
        with counting("score", StayFile(stays).rows) as tell:
            scored = score_file(stays, loaded, out, top, tell)
    except KeyboardInterrupt:
        remark("Stopped; finished parts are kept, and the same command goes on with the rest.")
        raise typer.Exit(INTERRUPTED) from None
    _report(scored, out)


def _report(scored: ScoredStays, out: Path) -> None:
    backed_off, unknown = scored.backed_off_diagnoses, scored.unknown_diagnoses
    codes = scored.known_diagnoses + backed_off + unknown
    remark(
        f"Scored: {counted(scored.stays, 'stay')}, {scored.stays_without_answer:,} of them without a diagnosis that "
        f"the model can use, and with an empty list."
    )
    remark(
        f"Unknown of {counted(codes, 'diagnosis', 'diagnoses')}: {backed_off:,} read as their heading's known codes, "
        f"{unknown:,} set aside."
    )
    remark(f"The recommendations are in {out}. {NOT_ADVICE}")
