"""What MIMIC-III and MIMIC-IV share: one code per row, one table per kind, admissions and patients beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ibis

from dx2px.cohort.sources.entries import Extract, entries_of, text, version_of
from dx2px.cohort.sources.source_tables import Tables

STAY, PATIENT, POSITION = "hadm_id", "subject_id", "seq_num"
ADMISSION = "admission_type"


@dataclass(frozen=True)
class CodeTables:
    """Where a release keeps the code and its ICD version: a column's name, or the version itself."""

    code: str
    version: str | int


def read_code_tables(tables: Tables, layout: CodeTables) -> Extract:
    """The entries of `diagnoses_icd` and `procedures_icd`."""
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
            )
        )
    rows = tables.rows(diagnoses) + tables.rows(procedures)
    return Extract(ibis.union(*parts), _context(tables), rows=rows)


def _context(tables: Tables) -> Any | None:
    """Sex and admission type of each stay, if the tables that have them are there."""
    admissions, patients = tables.find("admissions"), tables.find("patients")
    if admissions is None:
        return None
    stays = tables.read(admissions, [STAY, PATIENT, ADMISSION])
    sex = {}
    if patients is not None:
        people = tables.read(patients, [PATIENT, "gender"])
        people = people.select("gender", person=text(people[PATIENT]))
        stays = stays.left_join(people, text(stays[PATIENT]) == people.person)
        sex = {"sex": text(stays.gender)}
    rows = stays.select(stay=text(stays[STAY]), **sex, **{ADMISSION: text(stays[ADMISSION])})
    # A stay has one row; should it have two, the engines must still agree on which value they take.
    return rows.group_by("stay").agg(**{name: rows[name].min() for name in (*sex, ADMISSION)})
