"""What MIMIC-III and MIMIC-IV share: one code per row, one table per kind, admissions and patients beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ibis

from dx2px.cohort.sources.entries import Extract, entries_of, text, version_of, whole_number
from dx2px.cohort.sources.source_tables import Tables
from dx2px.cohort.sources.stay_context import one_per_stay, plausible, sex_of, unknown

STAY, PATIENT, POSITION = "hadm_id", "subject_id", "seq_num"
ADMISSION, ADMITTED = "admission_type", "admittime"


@dataclass(frozen=True)
class Layout:
    """How a release keeps a code, its ICD version (a column's name, or the version itself) and a patient's age."""

    code: str
    version: str | int
    age_columns: tuple[str, ...]  # of the patients
    age: Callable[[Any], Any]  # from these columns and the time of admission
    oldest: int  # the age that stands for all above it
    ages: str  # what the user should know about them


def read_code_tables(tables: Tables, layout: Layout) -> Extract:
    """The entries of `diagnoses_icd` and `procedures_icd`; the first diagnosis is the principal one."""
    diagnoses, procedures = tables.need("diagnoses_icd", "procedures_icd")
    parts = []
    for path, kind in ((diagnoses, "diagnosis"), (procedures, "procedure")):
        versions = [layout.version] if isinstance(layout.version, str) else []
        table = tables.read(path, [STAY, PATIENT, layout.code, POSITION, *versions])
        parts.append(
            entries_of(
                table,
                file=path.name,
                field=layout.code,
                kind=kind,
                stay=table[STAY],
                patient=table[PATIENT],
                position=table[POSITION],
                code=table[layout.code],
                version=version_of(table[layout.version]) if versions else layout.version,
                principal=whole_number(table[POSITION]) == 1 if kind == "diagnosis" else None,
            )
        )
    rows = tables.rows(diagnoses) + tables.rows(procedures)
    context = _context(tables, layout)
    notes = () if context is None else (layout.ages,)
    return Extract(ibis.union(*parts), context, notes, rows=rows)


def _context(tables: Tables, layout: Layout) -> Any | None:
    """Age, sex and type of admission of each stay, as far as the tables that have them are there."""
    admissions, patients = tables.find("admissions"), tables.find("patients")
    if admissions is None:
        return None
    stays = tables.read(admissions, [STAY, PATIENT, ADMISSION], [ADMITTED])
    known = {"age": unknown("age"), "sex": unknown("sex")}
    if patients is not None:
        people = tables.read(patients, [PATIENT, "gender"], layout.age_columns)
        people = people.drop("line").rename(person=PATIENT)
        stays = stays.left_join(people, text(stays[PATIENT]) == text(people.person))
        known["sex"] = sex_of(stays.gender)
        if {ADMITTED, *layout.age_columns} <= set(stays.columns):
            known["age"] = plausible(layout.age(stays), layout.oldest)
    return one_per_stay(stays.select(stay=text(stays[STAY]), **known, admission=text(stays[ADMISSION])))
