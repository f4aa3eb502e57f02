"""MIMIC-IV: `hosp/diagnoses_icd` and `hosp/procedures_icd`, ICD-9 or ICD-10 as `icd_version` says."""

from __future__ import annotations

from typing import Any

from dx2px.cohort.sources.entries import Extract, whole_number
from dx2px.cohort.sources.mimic import ADMITTED, Layout, read_code_tables
from dx2px.cohort.sources.source_options import SourceOptions
from dx2px.cohort.sources.source_tables import Tables
from dx2px.cohort.sources.stay_context import year_of


def _age(stays: Any) -> Any:
    """The age in the anchor year, moved to the year of admission: MIMIC-IV has no dates of birth."""
    return whole_number(stays.anchor_age) + year_of(stays[ADMITTED]) - whole_number(stays.anchor_year)


LAYOUT = Layout(
    code="icd_code",
    version="icd_version",
    age_columns=("anchor_age", "anchor_year"),
    age=_age,
    oldest=91,
    ages="Ages are counted in calendar years from the anchor year. The source gives everyone above 89 the age 91, so "
    "no age is above that.",
)


def extract(tables: Tables, options: SourceOptions) -> Extract:
    """Entries of the two code tables, in the release's folder, in its `hosp` folder, or in a schema."""
    tables.enter("hosp")
    return read_code_tables(tables, LAYOUT)
