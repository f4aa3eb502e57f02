"""The command that double-checks coded stays: audit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dx2px.cli.answers import NOT_ADVICE
from dx2px.cli.console import INTERRUPTED, counting, print_table, remark
from dx2px.cli.models import ModelOption, load_model
from dx2px.errors import InputError
from dx2px.storage import check_place
from dx2px.words import counted

if TYPE_CHECKING:
    from dx2px.answers.audit_file import FileAudit


def audit(
    stays: Annotated[
        Path, typer.Argument(help="A cohort, or any Parquet file with stay_id, diagnoses and procedures.")
    ],
    out: Annotated[
        Path, typer.Option(help="The .parquet or .csv file to write, one row per finding, strongest first.")
    ],
    model: ModelOption = None,
    worklist: Annotated[
        Path | None, typer.Option(help="Also write an .html page to sort, filter and tick off.")
    ] = None,
    precision: Annotated[
        float,
        typer.Option(
            help="Least strength of a finding, 0 to 1: the probability that it is a mistake, given --wrong and "
            "--omitted."
        ),
    ] = 0.1,
    per_100: Annotated[
        float | None,
        typer.Option(
            "--per-100",
            help="Keep only this many findings per 100 stays, the strongest.",
            show_default="no limit",
        ),
    ] = None,
    most: Annotated[
        int, typer.Option(help="Keep at most this many findings; the others are only counted.", min=1)
    ] = 100_000,
    wrong: Annotated[
        float, typer.Option(help="Assumed share of stays with a procedure that is not theirs, 0 to 1.")
    ] = 0.05,
    omitted: Annotated[
        float, typer.Option(help="Assumed share of procedures that were not coded, 0 to 1.")
    ] = 0.05,
) -> None:
    """Find unsupported and missing procedures in coded stays.

    Unsupported: the procedure is coded, but the diagnoses hardly support it. Missing: the diagnoses lead one to
    expect the procedure, but it is not coded. A finding is a reason to look, not proof of a mistake.

    \b
    Examples:
      dx2px audit C.parquet --out findings.csv --worklist worklist.html
      dx2px audit C.parquet --out findings.parquet --model MODEL --per-100 2
    """
    from dx2px.answers.audit_file import audit_file, check_findings_path
    from dx2px.answers.audit_stream import AUDITED
    from dx2px.answers.defects import AuditSettings
    from dx2px.answers.population_file import StayFile

    settings = AuditSettings(precision, wrong, omitted)
    check_findings_path(out, stays)
    _check_worklist(worklist)
    loaded = load_model(model)
    try:
        with counting("audit", StayFile(stays, AUDITED).rows) as show_done:
            found = audit_file(stays, loaded, settings, per_100=per_100, most=most, progress=show_done)
    except KeyboardInterrupt:
        remark("Stopped. Nothing was written.")
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
        raise InputError(f"The worklist is an .html file, not {worklist.name!r}: choose another name.")
    check_place(worklist)


def _report(found: FileAudit, out: Path, worklist: Path | None) -> None:
    """Print counts only: no ids, no stays."""
    counts = found.counts
    rows = [
        [name, number, 100 * number / max(counts.stays, 1)]
        for name, number in (
            ("unsupported (coded, but hardly supported by the diagnoses)", counts.unsupported),
            ("missing (expected, but not coded)", counts.missing),
            ("kept in the file", found.findings.num_rows),
        )
    ]
    print_table(f"Findings in {counted(counts.stays, 'stay')}", ["finding", "number", "per 100 stays"], rows)
    if counts.stays_without_answer:
        skipped = counted(counts.stays_without_answer, "stay")
        remark(f"Not audited, because the model can use none of their diagnoses: {skipped}.")
    remark(
        f"Unknown diagnoses: {counts.backed_off_diagnoses:,} replaced by known codes of the same heading, "
        f"{counts.unknown_diagnoses:,} left out. Unknown procedures, not audited: {counts.unknown_procedures:,}."
    )
    if found.left_out:
        remark(f"Counted but not kept: {counted(found.left_out, 'weaker finding')}.")
    if out.suffix.lower() == ".csv" and found.formula_ids:
        remark(
            f"{counted(found.formula_ids, 'finding')} with a stay id that a spreadsheet would run as a formula (it "
            "begins with =, +, -, @ or a control character): in the CSV file an apostrophe stands before the id."
        )
    places = f"{out}" if worklist is None else f"{out}, the worklist is in {worklist}"
    remark(f"The findings are in {places}. They hold ids of stays: keep them as safe as the stays.")
    remark(f"A finding is a reason to look, not proof of a mistake. {NOT_ADVICE}")
