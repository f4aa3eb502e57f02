"""Commands that make and show cohorts: prepare, synthesize, describe."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dx2px.cli.console import AsJson, counting, print_json, print_table, refuse_options, remark, working
from dx2px.storage import check_place
from dx2px.words import counted

if TYPE_CHECKING:
    from dx2px.cohort import Prepared, Summary

SourceName = StrEnum("SourceName", ["mimic3", "mimic4", "nhds", "synpuf", "omop", "table"])
IcdChoice = StrEnum("IcdChoice", {"nine": "9", "ten": "10", "both": "both"})
PresetName = StrEnum("PresetName", ["small", "medium", "large"])

TABLE_HELP = "Columns of your own tables (source `table`)"
COLUMN = {"rich_help_panel": TABLE_HELP, "show_default": False}


def prepare(
    source: Annotated[SourceName, typer.Argument(help="Where the tables come from.")],
    path: Annotated[
        str, typer.Argument(help="The folder of the tables, or the file; in a warehouse the schema or table.")
    ],
    out: Annotated[Path, typer.Option(help="The cohort file to write, e.g. C.parquet.")],
    engine: Annotated[
        str,
        typer.Option(
            help="Where the tables are worked on: duckdb (files), duckdb:///file.duckdb, "
            "postgresql://user@host/database, bigquery://project, or spark."
        ),
    ] = "duckdb",
    min_count: Annotated[int, typer.Option(help="Keep codes that at least so many stays have.")] = 1,
    icd: Annotated[
        IcdChoice | None,
        typer.Option(help="Keep codes of this version; for source `table`: the codes' version."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail when over 1 % of the entries are rejected.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
    stay_column: Annotated[str | None, typer.Option(help="Column of the stay's id.")] = None,
    patient_column: Annotated[str | None, typer.Option(help="Column of the patient's id.")] = None,
    code_column: Annotated[str | None, typer.Option(help="Column of the code, one code a row.")] = None,
    kind_column: Annotated[
        str | None, typer.Option(help="Column that tells diagnosis from procedure.")
    ] = None,
    system_column: Annotated[
        str | None, typer.Option(help="Column of the ICD version or code system.")
    ] = None,
    order_column: Annotated[str | None, typer.Option(help="Column of a code's place in its stay.")] = None,
    diagnosis_columns: Annotated[
        str | None, typer.Option(help="Diagnosis columns, one stay a row: names or patterns, e.g. 'dx*'.")
    ] = None,
    procedure_columns: Annotated[
        str | None, typer.Option(help="Procedure columns likewise, e.g. 'px*'.")
    ] = None,
    procedures_file: Annotated[
        str | None, typer.Option(help="Second file or table, when PATH holds the diagnoses alone.")
    ] = None,
) -> None:
    """Turn hospital tables into a cohort file.

    Rows that cannot be used go to OUT's companion, C.rejects.parquet, with file, line, column and reason.
    The options ending in -column, -columns and -file are for source `table`; what is not named is guessed and shown.
    """
    from dx2px.cohort import prepare as run
    from dx2px.cohort.sources import SourceOptions

    named: dict[str, Any] = {
        "stay_column": stay_column,
        "patient_column": patient_column,
        "code_column": code_column,
        "kind_column": kind_column,
        "system_column": system_column,
        "order_column": order_column,
        "diagnosis_columns": _names(diagnosis_columns),
        "procedure_columns": _names(procedure_columns),
        "procedures_file": procedures_file,
    }
    if source.value != "table":
        refuse_options([name for name, value in named.items() if value], f"the source {source.value}")
    options = SourceOptions(icd=icd.value if icd else None, **named)
    with working(f"prepare {source.value}") as say:
        prepared = run(
            source.value,
            path,
            out,
            engine=engine,
            min_count=min_count,
            options=options,
            strict=strict,
            say=say,
        )
    _show_prepared(prepared, json)


def synthesize(
    out: Annotated[Path, typer.Option(help="The cohort file to write; its truth goes beside it.")],
    preset: Annotated[PresetName, typer.Option(help="Sizes like the paper's three data sets.")] = PresetName[
        "small"
    ],
    stays: Annotated[int | None, typer.Option(help="Number of stays, if not the preset's.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same cohort.", min=0)] = 0,
    unexplained: Annotated[
        float | None, typer.Option(help="Share of procedures that no diagnosis caused, 0 to 0.9.")
    ] = None,
    sharing: Annotated[
        float | None, typer.Option(help="How many diagnoses can cause a procedure, on average.")
    ] = None,
    comorbidity: Annotated[
        float | None, typer.Option(help="Share of a stay's diagnoses from one co-morbidity group, 0 to 0.95.")
    ] = None,
) -> None:
    """Make a cohort of invented stays whose diagnosis → procedure links are known.

    Beside C.parquet stand C.links.parquet, the planted links, and C.causes.parquet, the cause of each procedure.
    """
    from dataclasses import replace

    from dx2px.cohort.synthetic import PRESETS, causes_path, links_path
    from dx2px.cohort.synthetic import synthesize as run

    asked: dict[str, Any] = {
        "stays": stays,
        "unexplained": unexplained,
        "sharing": sharing,
        "comorbidity": comorbidity,
    }
    config = replace(
        PRESETS[preset.value], **{name: value for name, value in asked.items() if value is not None}
    )
    with counting("synthesize", config.stays) as tell:
        summary = run(out, config, seed, tell)
    remark(
        f"{counted(summary.stays, 'invented stay')}: {out}; their truth is in {links_path(out)} and {causes_path(out)}."
    )


def describe(
    cohort: Annotated[Path, typer.Argument(help="A cohort file.")],
    plot: Annotated[Path | None, typer.Option(help="Also save the histograms: .png, .svg or .pdf.")] = None,
    top: Annotated[int, typer.Option(help="How many of the most frequent codes to list.", min=0)] = 10,
    json: AsJson = False,
) -> None:
    """Show what a cohort holds: counts, codes a stay, the most frequent codes."""
    from dx2px.cohort import Cohort
    from dx2px.cohort import describe as summarise

    if plot is not None:
        from dx2px.report.figures import check_format

        check_format(plot)
        check_place(plot)
    summary = summarise(Cohort.load(cohort), top)
    if json:
        print_json(summary.to_dict())
    else:
        show_summary(summary, cohort.name)
    if plot is not None:
        from dx2px.report.histograms import save_histograms

        save_histograms(summary, plot, f"{cohort.stem}: {summary.stays:,} stays")
        remark(f"Histograms are in {plot}.")


def show_summary(summary: Summary, name: str) -> None:
    """Print a cohort's summary as tables."""
    kinds = {"diagnoses": summary.diagnoses, "procedures": summary.procedures}
    patients = "" if summary.patients is None else f" of {summary.patients:,} patients"
    print_table(
        f"{name}: {summary.stays:,} stays{patients}",
        ["", "codes", "mean a stay", "median", "most", "stays of the rarest code"],
        [[name, k.codes, k.mean, k.median, k.most, k.rarest] for name, k in kinds.items()],
    )
    for kind, numbers in kinds.items():
        if numbers.frequent:
            print_table(
                f"Most frequent {kind}",
                ["code", "title", "stays", "share"],
                [[c.shown, c.title, c.stays, f"{c.share:.1%}"] for c in numbers.frequent],
            )


def _show_prepared(prepared: Prepared, as_json: bool) -> None:
    from dataclasses import asdict

    from dx2px.cohort.verdicts import sentence

    counts = prepared.counts
    if as_json:
        print_json({**asdict(counts), "notes": prepared.notes, "warnings": prepared.warnings})
    else:
        rejected = [(f"  rejected: {sentence(reason)}", n) for reason, n in counts.rejected.items()]
        rows = [
            ("entries read", counts.entries_read),
            *rejected,
            ("entries used", counts.entries_used),
            ("  of another ICD version, left out", counts.other_version),
            ("  repeated in their stay", counts.repeated),
            ("  in stays without both kinds of code", counts.without_both_kinds),
            ("  of codes below the minimum count", counts.rare),
            ("  in stays emptied by that", counts.emptied),
            ("  in the cohort", counts.kept),
            ("entries repaired (numbers turned back into codes)", counts.repaired),
            ("entries whose code no list has (kept)", counts.unlisted),
            ("stays read", counts.stays_read),
            ("stays with both kinds of code", counts.stays_with_both_kinds),
            ("stays in the cohort", counts.stays),
            ("distinct diagnoses", counts.diagnoses),
            ("distinct procedures", counts.procedures),
        ]
        always = {"entries read", "entries used", "  in the cohort"}
        print_table("", ["", "number"], [row for row in rows if row[1] or row[0] in always])
    for note in prepared.notes:
        remark(f"Note: {note}")
    for warning in prepared.warnings:
        remark(f"Warning: {warning}")
    remark(f"Cohort: {prepared.path}. Rejected entries: {prepared.rejects_path}.")


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip()) if text else ()
