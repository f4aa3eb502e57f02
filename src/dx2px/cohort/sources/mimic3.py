"""MIMIC-III: `DIAGNOSES_ICD` and `PROCEDURES_ICD`, all ICD-9."""

from __future__ import annotations

from typing import Any

from dx2px.cohort.sources.entries import Extract
from dx2px.cohort.sources.mimic import ADMITTED, Layout, read_code_tables
from dx2px.cohort.sources.source_options import SourceOptions
from dx2px.cohort.sources.source_tables import Tables
from dx2px.cohort.sources.stay_context import day_number, years_between


def _age(stays: Any) -> Any:
    return years_between(day_number(stays.dob), day_number(stays[ADMITTED]))


LAYOUT = Layout(
    code="icd9_code",
    version=9,
    age_columns=("dob",),
    age=_age,
    oldest=90,
    ages="Age 90 means 90 or more: the source moves the birth of people above 89 to 300 years before their stay.",
)


def extract(tables: Tables, options: SourceOptions) -> Extract:
    """Entries of the two code tables; context if its tables are there."""
    return read_code_tables(tables, LAYOUT)
