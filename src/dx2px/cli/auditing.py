"""The command that double-checks coded stays: audit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dx2px.cli.answers import NOT_ADVICE
from dx2px.cli.console import INTERRUPTED, AsJson, counting, print_json, remark
from dx2px.cli.models import Mapping, ModelOption, PcsName, model_for_stays
from dx2px.errors import InputError
from dx2px.storage import check_place
from dx2px.words import counted

if TYPE_CHECKING:
    from dx2px.answers.audit_file import FileAudit
    from dx2px.answers.drg import DrgCounts, Grouper
    from dx2px.answers.model import Model


AuditIn = Annotated[
    PcsName | None,
    typer.Option(
        help="The system of the procedures; families of codes in ICD-10-PCS. Without --model.",
        show_default="as most procedures in the file",
    ),
]


def audit(
    stays: Annotated[
        Path, typer.Argument(help="A cohort, or any Parquet file with stay_id, diagnoses and procedures.")
    ],
    out: Annotated[
        Path, typer.Option(help="The .parquet or .csv file to write, one row per finding, strongest first.")
    ],
    model: ModelOption = None,
    worklist: Annotated[
        Path | None, typer.Option(help="Also write an .html page to read, filter and tick off.")
    ] = None,
    kinds: Annotated[
        str,
        typer.Option(
            help="Kinds of finding, separated by commas: of unsupported, omitted, swap, companion, diagnosis."
        ),
    ] = "unsupported,omitted,companion,diagnosis",
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
    omitted: Annotated[float, typer.Option(help="Assumed share of codes that were left out, 0 to 1.")] = 0.05,
    drg: Annotated[
        str | None,
        typer.Option(
            help="Also give the MS-DRG of each finding's stay, as coded and as it would be: latest, or a version such "
            "as v43.1. For ICD-10; needs the extra [drg]. Information, not advice on billing.",
            metavar="VERSION",
        ),
    ] = None,
    map: Mapping = True,  # noqa: A002
    answer_in: AuditIn = None,
    as_json: AsJson = False,
) -> None:
    """Find what looks wrong or missing in coded stays.

    A finding compares a stay with how stays like it were coded. It is a reason to look, not proof of a mistake.

    \b
    Examples:
      dx2px audit C.parquet --out findings.csv --worklist worklist.html
      dx2px audit C.parquet --out findings.parquet --model MODEL --per-100 2
      dx2px audit C.parquet --out findings.csv --kinds unsupported,swap
    """
    from dx2px.answers.audit_file import audit_file, check_findings_path
    from dx2px.answers.audit_stream import AUDITED
    from dx2px.answers.defects import AuditSettings, checked_kinds
    from dx2px.answers.drg import with_drgs
    from dx2px.answers.population_file import StayFile
    from dx2px.cli.audit_summary import print_summary, summary

    wanted = checked_kinds([kind.strip() for kind in kinds.split(",") if kind.strip()])
    settings = AuditSettings(precision, wrong, omitted, wanted)
    check_findings_path(out, stays)
    _check_worklist(worklist)
    loaded = model_for_stays(stays, model, answer_in, audit=True)
    grouper = None if drg is None else _grouper(drg, loaded, stays)
    try:
        with counting("audit", StayFile(stays, AUDITED).rows) as show_done:
            found = audit_file(
                loaded, stays, settings, per_100=per_100, most=most, progress=show_done, map=map
            )
    except KeyboardInterrupt:
        remark("Stopped. Nothing was written.")
        raise typer.Exit(INTERRUPTED) from None
    drg_counts = None
    if grouper is not None:
        found, drg_counts = with_drgs(found, stays, grouper)
    found.save(out)
    if worklist is not None:
        from dx2px.report.worklist import save_worklist

        save_worklist(found, worklist)
    if as_json:
        print_json(summary(found, drg_counts))
        return
    print_summary(found)
    _remark_on(found, drg_counts)
    _remark_on_files(found, out, worklist)


def _check_worklist(worklist: Path | None) -> None:
    if worklist is None:
        return
    if worklist.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"The worklist is an .html file, not {worklist.name!r}: choose another name.")
    check_place(worklist)


def _grouper(version: str, model: Model, stays: Path) -> Grouper:
    """What groups stays; asked for before the work, so that a mistake is told at once."""
    from dx2px.answers.drg import Grouper, check_groupable

    grouper = Grouper(version)
    check_groupable(model, stays)
    return grouper


def _remark_on(found: FileAudit, drg: DrgCounts | None) -> None:
    """What was set aside, and what was added."""
    from dx2px.answers.mapping import mapping_summary

    counts = found.counts
    if counts.stays_without_answer:
        skipped = counted(counts.stays_without_answer, "stay")
        remark(f"Not audited, because the model can use none of their diagnoses: {skipped}.")
    if counts.stays_with_other_procedures:
        other = counted(counts.stays_with_other_procedures, "stay")
        remark(
            f"Not audited, because their procedures are of an ICD version that the model does not know: {other}. "
            "Choose another --answer-in or --model."
        )
    if counts.mapping:
        remark(mapping_summary(counts.mapping))
    if counts.backed_off_diagnoses or counts.unknown_diagnoses:
        remark(
            f"Unknown diagnoses: {counts.backed_off_diagnoses:,} replaced by known codes of the same heading, "
            f"{counts.unknown_diagnoses:,} left out."
        )
    if counts.unknown_procedures:
        remark(f"Unknown procedures, not audited: {counts.unknown_procedures:,}.")
    if found.left_out:
        remark(f"Counted but not kept: {counted(found.left_out, 'weaker finding')}.")
    if drg is not None:
        aside = "".join(f" Not grouped: {number:,} of {reason}." for reason, number in drg.set_aside.items())
        remark(
            f"MS-DRG {drg.version}: the group would change in {drg.changed:,} of {counted(drg.grouped, 'finding')}."
            f"{aside} This is information, not advice on billing."
        )


def _remark_on_files(found: FileAudit, out: Path, worklist: Path | None) -> None:
    if out.suffix.lower() == ".csv" and found.formula_ids:
        remark(
            f"{counted(found.formula_ids, 'finding')} with a stay id that a spreadsheet would run as a formula (it "
            "begins with =, +, -, @ or a control character): in the CSV file an apostrophe stands before the id."
        )
    places = f"{out}" if worklist is None else f"{out}, the worklist is in {worklist}"
    remark(f"The findings are in {places}. They hold ids of stays: keep them as safe as the stays.")
    remark(f"A finding is a reason to look, not proof of a mistake. {NOT_ADVICE}")
