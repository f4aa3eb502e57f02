"""The command that recommends for a whole file of stays: score."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dx2px.cli.answers import NOT_ADVICE
from dx2px.cli.console import INTERRUPTED, counting, remark
from dx2px.cli.models import AnswerIn, Mapping, ModelOption, model_for_stays
from dx2px.storage import PARQUET, check_ending, check_place
from dx2px.words import counted

if TYPE_CHECKING:
    from dx2px.answers.population_file import ScoredStays


def score(
    stays: Annotated[Path, typer.Argument(help="A cohort, or any Parquet file with stay_id and diagnoses.")],
    out: Annotated[Path, typer.Option(help="The Parquet file to write.")],
    model: ModelOption = None,
    top: Annotated[int, typer.Option(help="How many procedures per stay.", min=1)] = 10,
    map: Mapping = True,  # noqa: A002
    answer_in: AnswerIn = None,
) -> None:
    """Recommend procedures for every stay of a file.

    If it is stopped, the same command continues where it stopped.
    """
    from dx2px.answers.population_file import StayFile, score_file

    check_place(out)
    check_ending(out, PARQUET, "The answers are a Parquet file, which ends in")
    loaded = model_for_stays(stays, model, answer_in, audit=False)
    try:
        with counting("score", StayFile(stays).rows) as show_done:
            scored = score_file(loaded, stays, out, top, show_done, map=map)
    except KeyboardInterrupt:
        remark("Stopped. What is finished is kept; the same command continues with the rest.")
        raise typer.Exit(INTERRUPTED) from None
    _report(scored, out)


def _report(scored: ScoredStays, out: Path) -> None:
    from dx2px.answers.mapping import mapping_summary

    backed_off, unknown = scored.backed_off_diagnoses, scored.unknown_diagnoses
    codes = scored.known_diagnoses + backed_off + unknown
    remark(f"Scored {counted(scored.stays, 'stay')} with {counted(codes, 'diagnosis', 'diagnoses')}.")
    if scored.stays_without_answer:
        without = counted(scored.stays_without_answer, "stay has", "stays have")
        remark(f"{without} no diagnosis that the model can use, and an empty list.")
    if scored.mapping:
        remark(mapping_summary(scored.mapping))
    if backed_off or unknown:
        remark(
            f"The model did not know {backed_off + unknown:,} of the diagnoses: {backed_off:,} were replaced by known "
            f"codes of the same heading, {unknown:,} were left out."
        )
    remark(f"The recommendations are in {out}. {NOT_ADVICE}")
