"""MIMIC-IV: `hosp/diagnoses_icd` and `hosp/procedures_icd`, ICD-9 and ICD-10 told apart by `icd_version`."""

from __future__ import annotations

from dx2px.cohort.sources.entries import Extract
from dx2px.cohort.sources.long_tables import CodeTables, read_code_tables
from dx2px.cohort.sources.options import SourceOptions
from dx2px.cohort.sources.tables import Tables

LAYOUT = CodeTables(code="icd_code", version="icd_version", admission_context=("admission_type",))


def extract(tables: Tables, options: SourceOptions) -> Extract:
    """Entries of the two code tables, from the release's folder, its `hosp` folder, or a schema."""
    tables.enter("hosp")
    return read_code_tables(tables, LAYOUT, options)
