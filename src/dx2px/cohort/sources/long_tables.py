"""What MIMIC-III and MIMIC-IV share: one row a code, one table a kind, admissions and patients beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ibis

from dx2px.cohort.sources.entries import Extract, entries_of, text, version_of
from dx2px.cohort.sources.options import SourceOptions
from dx2px.cohort.sources.tables import Tables

STAY, PATIENT, POSITION = "hadm_id", "subject_id", "seq_num"


@dataclass(frozen=True)
class CodeTables:
    """Where a release keeps the code and its ICD version: a column's name, or the version itself."""

    code: str
    version: str | int
    admission_context: tuple[str, ...]


def read_code_tables(tables: Tables, layout: CodeTables, options: SourceOptions) -> Extract:
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
    return Extract(ibis.union(*parts), _context(tables, layout.admission_context), rows=rows)


def _context(tables: Tables, columns: tuple[str, ...]) -> Any | None:
    """Sex and admission columns of each stay, where the release's tables are in the folder."""
    admissions, patients = tables.find("admissions"), tables.find("patients")
    if admissions is None:
        return None
    stays = tables.read(admissions, [STAY, PATIENT, *columns])
    chosen = {name: text(stays[name]) for name in columns}
    if patients is not None:
        people = tables.read(patients, [PATIENT, "gender"])
        people = people.select("gender", person=text(people[PATIENT]))
        stays = stays.left_join(people, text(stays[PATIENT]) == people.person)
        chosen = {"sex": text(stays.gender)} | {name: text(stays[name]) for name in columns}
    rows = stays.select(stay=text(stays[STAY]), **chosen)
    # A stay has one row; should it have two, the engines must still agree on what they take.
    return rows.group_by("stay").agg(**{name: rows[name].min() for name in chosen})
