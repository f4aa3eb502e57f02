"""Commands that make and show cohorts: prepare, synthesize, describe."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dx2px.cli.console import AsJson, counting, print_json, print_table, refuse_options, remark, working
from dx2px.storage import PARQUET, check_ending, check_place
from dx2px.words import counted

if TYPE_CHECKING:
    from dx2px.cohort import Prepared, Summary

SourceName = StrEnum("SourceName", ["mimic3", "mimic4", "nhds", "synpuf", "omop", "fhir", "meds", "table"])
IcdChoice = StrEnum("IcdChoice", {"nine": "9", "ten": "10", "both": "both"})
PcsName = StrEnum("PcsName", ["icd9pcs", "icd10pcs"])
PresetName = StrEnum("PresetName", ["small", "medium", "large"])

COLUMNS = "Columns of your own tables (source `table`)"


def prepare(
    source: Annotated[SourceName, typer.Argument(help="What kind of tables they are.")],
    path: Annotated[str, typer.Argument(help="A folder or file; in a warehouse, the schema or table.")],
    out: Annotated[Path, typer.Option(help="The cohort file to write, such as C.parquet.")],
    engine: Annotated[
        str,
        typer.Option(
            help="Where to read the tables: duckdb (files), duckdb:///file.duckdb, "
            "postgresql://user@host/database, bigquery://project, or spark."
        ),
    ] = "duckdb",
    min_count: Annotated[int, typer.Option(help="Keep codes found in at least this many stays.")] = 1,
    repeat_min_count: Annotated[
        bool,
        typer.Option("--repeat-min-count", help="Count again until every code left has --min-count stays."),
    ] = False,
    icd: Annotated[
        IcdChoice | None,
        typer.Option(
            help="Keep only codes of this ICD version; for source `table`, the version of its codes.",
            show_default="depends on the source",
        ),
    ] = None,
    icd_diagnoses: Annotated[
        IcdChoice | None, typer.Option(help="The same for diagnoses alone.", show_default="as --icd")
    ] = None,
    icd_procedures: Annotated[
        IcdChoice | None, typer.Option(help="The same for procedures alone.", show_default="as --icd")
    ] = None,
    answer_in: Annotated[
        PcsName | None,
        typer.Option(
            help="icd10pcs turns ICD-9-CM procedures into families of ICD-10-PCS codes; needs --maps.",
            show_default="as coded",
        ),
    ] = None,
    maps: Annotated[
        Path | None,
        typer.Option(help="Folder with CMS's maps of procedures: gem_i9pcs.txt, gem_pcsi9.txt, or a CSV."),
    ] = None,
    correct: Annotated[
        list[str] | None,
        typer.Option(
            help="Read a code as another one, as in icd9pcs:48.1=icd9pcs:04.81; with a condition, only in stays "
            "that also have a code that matches: 'icd9pcs:81.52=icd9pcs:81.62 with icd9pcs:81.0* or icd9pcs:81.3*'. "
            "May be repeated.",
            metavar="CODE=CODE",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail if more than 1 % of the entries are rejected.")
    ] = False,
    max_rejected: Annotated[
        float,
        typer.Option(help="Fail if more than this share of the entries is rejected.", min=0, max=1),
    ] = 0.25,
    json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
    stay_column: Annotated[
        str | None, typer.Option(help="Column with the id of the stay.", rich_help_panel=COLUMNS)
    ] = None,
    patient_column: Annotated[
        str | None, typer.Option(help="Column with the id of the patient.", rich_help_panel=COLUMNS)
    ] = None,
    code_column: Annotated[
        str | None,
        typer.Option(help="Column with the code, if there is one code per row.", rich_help_panel=COLUMNS),
    ] = None,
    kind_column: Annotated[
        str | None,
        typer.Option(help="Column that says diagnosis or procedure.", rich_help_panel=COLUMNS),
    ] = None,
    system_column: Annotated[
        str | None,
        typer.Option(help="Column with the ICD version or code system.", rich_help_panel=COLUMNS),
    ] = None,
    order_column: Annotated[
        str | None,
        typer.Option(
            help="Column with the position of the code in its stay; the first diagnosis is the principal one.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    diagnosis_columns: Annotated[
        str | None,
        typer.Option(
            help="Diagnosis columns, if there is one stay per row: names or patterns such as 'dx*'.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    procedure_columns: Annotated[
        str | None,
        typer.Option(help="Procedure columns, in the same way, such as 'px*'.", rich_help_panel=COLUMNS),
    ] = None,
    principal: Annotated[
        str | None,
        typer.Option(
            help="Column with the principal diagnosis, if there is one stay per row. Its code becomes the first "
            "diagnosis. Not guessed.",
            metavar="COLUMN",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    age: Annotated[
        str | None,
        typer.Option(
            help="Column with the age at admission, in years.", metavar="COLUMN", rich_help_panel=COLUMNS
        ),
    ] = None,
    sex: Annotated[
        str | None, typer.Option(help="Column with the sex.", metavar="COLUMN", rich_help_panel=COLUMNS)
    ] = None,
    admission: Annotated[
        str | None,
        typer.Option(
            help="Column with the type of admission, such as emergency.",
            metavar="COLUMN",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    procedures_file: Annotated[
        str | None,
        typer.Option(
            help="File or table with the procedures, if PATH holds only diagnoses.", rich_help_panel=COLUMNS
        ),
    ] = None,
) -> None:
    """Turn hospital tables into a cohort file.

    Entries that cannot be used are listed beside OUT, in C.rejects.parquet, with file, line, column and reason.
    With source `table`, columns that you do not name are guessed, and the guess is shown.

    \b
    Examples:
      dx2px prepare mimic3 mimic-iii/ --out mimic3.parquet --min-count 10
      dx2px prepare table stays.csv --out own.parquet --icd 9
      dx2px prepare table stays.csv --out own.parquet --icd-procedures 9
      dx2px prepare omop cdm --out omop.parquet --engine postgresql://me@host/db
    """
    from dx2px.cohort import prepare as run
    from dx2px.cohort.corrections import parse_corrections
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
    context = {"principal": principal, "age": age, "sex": sex, "admission": admission}
    if source.value != "table":
        given = [name for name, value in (named | context).items() if value]
        refuse_options(given, f"the source {source.value}")
    named |= {f"{role}_column": column for role, column in context.items()}
    named |= {"answer_in": answer_in.value if answer_in else None, "maps": maps}
    named["corrections"] = parse_corrections(correct or ())
    versions = {"icd": icd, "icd_diagnoses": icd_diagnoses, "icd_procedures": icd_procedures}
    named |= {name: version.value if version else None for name, version in versions.items()}
    options = SourceOptions(**named)
    check_ending(out, PARQUET, "A cohort is a Parquet file, which ends in")
    with working(f"prepare {source.value}") as say:
        prepared = run(
            source.value,
            path,
            out,
            engine=engine,
            min_count=min_count,
            repeat_min_count=repeat_min_count,
            options=options,
            strict=strict,
            max_rejected=max_rejected,
            say=say,
        )
    _show_prepared(prepared, json)


def synthesize(
    out: Annotated[Path, typer.Option(help="The cohort file to write, such as C.parquet.")],
    preset: Annotated[
        PresetName, typer.Option(help="The size: like the small, medium or large data set of the paper.")
    ] = PresetName["small"],
    stays: Annotated[
        int | None, typer.Option(help="Number of stays.", show_default="about 30,000, as in the preset")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same cohort.", min=0)] = 0,
    unexplained: Annotated[
        float | None,
        typer.Option(help="Share of procedures not caused by any diagnosis, 0 to 0.9.", show_default="0.08"),
    ] = None,
    sharing: Annotated[
        float | None,
        typer.Option(help="How many diagnoses can cause a procedure, on average.", show_default="3"),
    ] = None,
    comorbidity: Annotated[
        float | None,
        typer.Option(
            help="Share of a stay's diagnoses from one comorbidity group, 0 to 0.95.", show_default="0.7"
        ),
    ] = None,
) -> None:
    """Make a cohort of synthetic stays with known causes.

    C.links.parquet holds the planted diagnosis → procedure links, C.causes.parquet the cause of each procedure.
    """
    from dataclasses import replace

    from dx2px.lab.synthetic import PRESETS, causes_path, links_path
    from dx2px.lab.synthetic import synthesize as run

    asked: dict[str, Any] = {
        "stays": stays,
        "unexplained": unexplained,
        "sharing": sharing,
        "comorbidity": comorbidity,
    }
    config = replace(
        PRESETS[preset.value], **{name: value for name, value in asked.items() if value is not None}
    )
    check_ending(out, PARQUET, "A cohort is a Parquet file, which ends in")
    with counting("synthesize", config.stays) as show_done:
        summary = run(out, config, seed, show_done)
    remark(
        f"{counted(summary.stays, 'synthetic stay')} are in {out}, their planted links in {links_path(out)}, "
        f"the cause of each procedure in {causes_path(out)}."
    )


def describe(
    cohort: Annotated[Path, typer.Argument(help="A cohort file.")],
    plot: Annotated[
        Path | None, typer.Option(help="Also save histograms of codes per stay, as .png, .svg or .pdf.")
    ] = None,
    top: Annotated[int, typer.Option(help="How many of the most frequent codes to list.", min=0)] = 10,
    json: AsJson = False,
) -> None:
    """Show what a cohort holds: its size and most frequent codes."""
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
        remark(f"The histograms are in {plot}.")


def show_summary(summary: Summary, name: str) -> None:
    """Print a cohort's summary as tables."""
    from dx2px.codes import Notation

    kinds = {"diagnoses": summary.diagnoses, "procedures": summary.procedures}
    patients = "" if summary.patients is None else f" of {summary.patients:,} patients"
    print_table(
        f"{name}: {summary.stays:,} stays{patients}",
        ["", "codes", "mean per stay", "median", "most", "stays with the rarest code"],
        [[name, k.codes, k.mean, k.median, k.most, k.rarest] for name, k in kinds.items()],
    )
    print_table(
        "Known about the stays",
        ["", "stays", "share of stays"],
        [[name, stays, f"{stays / max(summary.stays, 1):.1%}"] for name, stays in summary.known.items()],
    )
    for kind, numbers in kinds.items():
        if numbers.frequent:
            notation = Notation.of(c.code for c in numbers.frequent)
            print_table(
                f"Most frequent {kind}",
                [notation.heading, "title", "stays", "share of stays"],
                [[notation.write(c.code), c.title, c.stays, f"{c.share:.1%}"] for c in numbers.frequent],
                codes=(0,),
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
            ("entries added (procedures translated into several)", counts.combined),
            ("  left out: another ICD version", counts.other_version),
            ("  left out: repeated in their stay", counts.repeated),
            ("  left out: stay without both kinds of code", counts.without_both_kinds),
            ("  left out: code below the minimum count", counts.rare),
            ("  left out: stay emptied by the minimum count", counts.emptied),
            ("  in the cohort", counts.kept),
            ("entries repaired (numbers turned back into codes)", counts.repaired),
            ("entries corrected (--correct)", counts.corrected),
            ("stays with a corrected entry", counts.corrected_stays),
            ("entries with a code that is in no ICD list (kept)", counts.unlisted),
            ("stays read", counts.stays_read),
            ("stays with both kinds of code", counts.stays_with_both_kinds),
            ("stays in the cohort", counts.stays),
            ("distinct diagnoses", counts.diagnoses),
            ("distinct procedures", counts.procedures),
        ]
        always = {"entries read", "entries used", "  in the cohort"}
        print_table(
            "What was read and what was kept",
            ["", "number"],
            [row for row in rows if row[1] or row[0] in always],
        )
    for note in prepared.notes:
        remark(f"Note: {note}")
    for warning in prepared.warnings:
        remark(f"Warning: {warning}")
    rejects = f", the rejected entries in {prepared.rejects_path}" if sum(counts.rejected.values()) else ""
    remark(f"The cohort is in {prepared.path}{rejects}.")


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip()) if text else ()
