"""CMS DE-SynPUF inpatient claims: synthetic, one claim per row, codes in numbered columns, ICD-9.

Of the six procedure columns only the first holds procedure codes. By a mistake of the source, the others repeat
diagnoses (most of their values are not procedure codes), so they are left out and counted.
"""

from __future__ import annotations

import ibis

from dx2px.codes import Kind
from dx2px.cohort.sources.entries import Extract, text, wide_entries
from dx2px.cohort.sources.source_options import SourceOptions
from dx2px.cohort.sources.source_tables import Tables

STAY, PATIENT = "clm_id", "desynpuf_id"
DIAGNOSES = [f"icd9_dgns_cd_{n}" for n in range(1, 11)]
PRINCIPAL = DIAGNOSES[0]
PROCEDURE = "icd9_prcdr_cd_1"
DISTRUSTED = [f"icd9_prcdr_cd_{n}" for n in range(2, 7)]


def extract(tables: Tables, options: SourceOptions) -> Extract:
    """Entries of ten diagnosis columns and the first procedure column of every claims file."""
    parts = []
    left_out = 0
    for path in tables.matching("*Inpatient_Claims*"):
        table = tables.read(path, [STAY, PATIENT, *DIAGNOSES, PROCEDURE], DISTRUSTED)
        columns_of: dict[Kind, list[str]] = {"diagnosis": DIAGNOSES, "procedure": [PROCEDURE]}
        for kind, columns in columns_of.items():
            parts.append(
                wide_entries(
                    table,
                    file=path.name,
                    kind=kind,
                    columns=columns,
                    stay=STAY,
                    patient=PATIENT,
                    version=9,
                    principal=PRINCIPAL if PRINCIPAL in columns else None,
                )
            )
        filled = [text(table[name]).notnull().sum() for name in DISTRUSTED if name in table.columns]
        if filled:
            left_out += tables.engine.value(sum(filled[1:], filled[0])) or 0
    note = (
        f"Of the procedure columns, only {PROCEDURE.upper()} is read: by a mistake of the source, the others hold "
        f"diagnosis codes ({left_out:,} values left out)."
    )
    return Extract(ibis.union(*parts) if len(parts) > 1 else parts[0], notes=(note,))
