"""MIMIC-IV: `hosp/diagnoses_icd` and `hosp/procedures_icd`, ICD-9 or ICD-10 as `icd_version` says."""

from __future__ import annotations

from dx2px.cohort.sources.entries import Extract
from dx2px.cohort.sources.mimic import CodeTables, read_code_tables
from dx2px.cohort.sources.source_options import SourceOptions
from dx2px.cohort.sources.source_tables import Tables

LAYOUT = CodeTables(code="icd_code", version="icd_version")


def extract(tables: Tables, options: SourceOptions) -> Extract:
    """Entries of the two code tables, in the release's folder, in its `hosp` folder, or in a schema."""
    tables.enter("hosp")
    return read_code_tables(tables, LAYOUT)
