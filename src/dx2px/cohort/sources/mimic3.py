"""MIMIC-III: `DIAGNOSES_ICD` and `PROCEDURES_ICD`, all ICD-9."""

from __future__ import annotations

from dx2px.cohort.sources.entries import Extract
from dx2px.cohort.sources.long_tables import CodeTables, read_code_tables
from dx2px.cohort.sources.options import SourceOptions
from dx2px.cohort.sources.tables import Tables

LAYOUT = CodeTables(code="icd9_code", version=9, admission_context=("admission_type",))


def extract(tables: Tables, options: SourceOptions) -> Extract:
    """Entries of the two code tables; sex and admission type where their tables are present."""
    return read_code_tables(tables, LAYOUT, options)
