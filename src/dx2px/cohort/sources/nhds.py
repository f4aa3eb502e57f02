"""The US National Hospital Discharge Survey, public-use file of 2010: one fixed-width line per stay, ICD-9."""

from __future__ import annotations

import ibis

from dx2px.codes import Kind
from dx2px.cohort.sources.entries import Extract, whole_number, wide_entries
from dx2px.cohort.sources.source_options import SourceOptions
from dx2px.cohort.sources.source_tables import Tables

WIDTH = 149
DIAGNOSES = {f"diagnosis_{n + 1}": slice(27 + 5 * n, 32 + 5 * n) for n in range(15)}
PROCEDURES = {f"procedure_{n + 1}": slice(102 + 4 * n, 106 + 4 * n) for n in range(8)}
FIELDS: dict[Kind, dict[str, slice]] = {"diagnosis": DIAGNOSES, "procedure": PROCEDURES}
PRINCIPAL = "diagnosis_1"
CONTEXT = {
    "age_unit": slice(3, 4),
    "age": slice(4, 6),
    "sex": slice(6, 7),
    "region": slice(17, 18),
    "admission": slice(141, 142),
}
DAYS_OF_AGE_UNIT = {"1": 365.25, "2": 365.25 / 12, "3": 1.0}
SEX = {"1": "M", "2": "F"}
REGION = {"1": "Northeast", "2": "Midwest", "3": "South", "4": "West"}
ADMISSION = {"1": "emergency", "2": "urgent", "3": "elective", "4": "newborn", "5": "trauma"}


def extract(tables: Tables, options: SourceOptions) -> Extract:
    """Entries of all diagnosis and procedure fields, the first diagnosis being the principal one; context."""
    path = tables.matching("NHDS*")[0]
    table = tables.read_fixed_width(path, WIDTH, CONTEXT | DIAGNOSES | PROCEDURES)
    table = table.mutate(stay=table.line.cast("string"))
    entries = [
        wide_entries(
            table,
            file=path.name,
            kind=kind,
            columns=list(columns),
            stay="stay",
            version=9,
            principal=PRINCIPAL if PRINCIPAL in columns else None,
        )
        for kind, columns in FIELDS.items()
    ]
    days = table.age_unit.cases(*DAYS_OF_AGE_UNIT.items(), else_=ibis.null())
    context = table.select(
        "stay",
        age=(whole_number(table.age) * days / 365.25).floor().cast("int32"),
        sex=table.sex.cases(*SEX.items(), else_=ibis.null()),
        region=table.region.cases(*REGION.items(), else_=ibis.null()),
        admission=table.admission.cases(*ADMISSION.items(), else_=ibis.null()),
    )
    # Taking the cells apart costs more than reading the entries back, and three later steps need them.
    kept = tables.engine.keep("entries", ibis.union(*entries))
    return Extract(kept, context, ("The file has no patient ids, so each line is one stay.",))
