"""The command that asks a model about a whole file of stays: score."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dx2px.cli.console import INTERRUPTED, counting, remark
from dx2px.cli.models import NOT_ADVICE, ModelOption, load_model

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
        f"{scored.stays:,} stays are scored; {scored.stays_without_answer:,} of them have no diagnosis that the model "
        f"can use, and an empty list."
    )
    remark(
        f"Of {codes:,} diagnoses, {backed_off:,} are unknown and read as their heading's known codes, "
        f"{unknown:,} are set aside."
    )
    remark(f"The recommendations are in {out}. {NOT_ADVICE}")
