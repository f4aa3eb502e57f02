"""The command that double-checks coded stays: audit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dx2px.cli.console import INTERRUPTED, counting, print_table, remark
from dx2px.cli.models import NOT_ADVICE, ModelOption, load_model
from dx2px.errors import InputError
from dx2px.storage import check_place
from dx2px.words import counted

if TYPE_CHECKING:
    from dx2px.inference.audit_file import FileAudit


def audit(
    stays: Annotated[
        Path, typer.Argument(help="A cohort, or any Parquet file with stay_id, diagnoses and procedures.")
    ],
    out: Annotated[Path, typer.Option(help="The findings, strongest first: a .parquet or .csv file.")],
    model: ModelOption = None,
    worklist: Annotated[Path | None, typer.Option(help="Also a page to work through, .html.")] = None,
    precision: Annotated[
        float,
        typer.Option(help="The least strength: at least this share of findings should be mistakes."),
    ] = 0.1,
    per_100: Annotated[
        float | None, typer.Option("--per-100", help="Only the strongest so many per 100 stays.")
    ] = None,
    most: Annotated[
        int, typer.Option(help="The most findings to keep; the rest are counted.", min=1)
    ] = 100_000,
    wrong: Annotated[
        float, typer.Option(help="The share of stays taken to carry a procedure not theirs.")
    ] = 0.05,
    omitted: Annotated[float, typer.Option(help="The share of procedures taken to be left out.")] = 0.05,
) -> None:
    """Find coded procedures that the diagnoses hardly support, and procedures expected but absent."""
    from dx2px.inference.audit_file import audit_file, check_findings_path
    from dx2px.inference.audit_stream import AUDITED
    from dx2px.inference.population_file import StayFile
    from dx2px.model.defects import AuditSettings

    settings = AuditSettings(precision, wrong, omitted)
    check_findings_path(out, stays)
    _check_worklist(worklist)
    loaded = load_model(model)
    try:
        with counting("audit", StayFile(stays, AUDITED).rows) as tell:
            found = audit_file(stays, loaded, settings, per_100=per_100, most=most, progress=tell)
    except KeyboardInterrupt:
        remark("Stopped; nothing was written.")
        raise typer.Exit(INTERRUPTED) from None
    found.save(out)
    if worklist is not None:
        from dx2px.report.worklist import save_worklist

        save_worklist(found, worklist)
    _report(found, out, worklist)


def _check_worklist(worklist: Path | None) -> None:
    if worklist is None:
        return
    if worklist.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"The worklist is an .html file, not {worklist.name!r}.")
    check_place(worklist)


def _report(found: FileAudit, out: Path, worklist: Path | None) -> None:
    """Counts alone: no id and no stay."""
    counts = found.counts
    rows = [
        [name, number, 100 * number / max(counts.stays, 1)]
        for name, number in (
            ("coded, hardly supported", counts.unsupported),
            ("expected, absent", counts.missing),
            ("kept in the file", found.findings.num_rows),
        )
    ]
    print_table(f"Findings in {counted(counts.stays, 'stay')}", ["finding", "number", "per 100 stays"], rows)
    if counts.stays_without_answer:
        passed_over = counted(counts.stays_without_answer, "stay")
        remark(f"Not audited, for the model can use none of their diagnoses: {passed_over}.")
    remark(
        f"Unknown diagnoses: {counts.backed_off_diagnoses:,} read as their heading's known codes, "
        f"{counts.unknown_diagnoses:,} set aside. Unknown procedures, not audited: {counts.unknown_procedures:,}."
    )
    if found.left_out:
        remark(f"Counted and left out: {counted(found.left_out, 'weaker finding')}.")
    places = f"{out}" if worklist is None else f"{out}, the worklist in {worklist}"
    remark(f"The findings are in {places}: they hold ids of stays.")
    remark(f"A finding is a reason to look, no proof of a mistake. {NOT_ADVICE}")
