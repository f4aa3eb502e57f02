"""MIMIC-III: `DIAGNOSES_ICD` and `PROCEDURES_ICD`, all ICD-9."""

from __future__ import annotations

from dx2px.cohort.sources.entries import Extract
from dx2px.cohort.sources.mimic import CodeTables, read_code_tables
from dx2px.cohort.sources.source_options import SourceOptions
from dx2px.cohort.sources.source_tables import Tables

LAYOUT = CodeTables(code="icd9_code", version=9)


def extract(tables: Tables, options: SourceOptions) -> Extract:
    """Entries of the two code tables; sex and admission type if their tables are there."""
    return read_code_tables(tables, LAYOUT)
