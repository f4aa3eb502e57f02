"""The OMOP common data model: `condition_occurrence` and `procedure_occurrence` by `visit_occurrence_id`.

With a `concept` table the source concept gives code and vocabulary, and the vocabulary gives the kind (OMOP files
some diagnosis codes as procedures). Without one the source values are taken as ICD codes of one version.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibis

from dx2px.codes import Kind
from dx2px.cohort.sources.entries import NOT_ICD, Extract, entries_of
from dx2px.cohort.sources.options import SourceOptions
from dx2px.cohort.sources.tables import Tables

STAY, PATIENT = "visit_occurrence_id", "person_id"
VOCABULARIES = {"ICD9CM": 9, "ICD9Proc": 9, "ICD10CM": 10, "ICD10PCS": 10}
KIND_OF_VOCABULARY: dict[str, Kind] = {
    "ICD9CM": "diagnosis",
    "ICD9Proc": "procedure",
    "ICD10CM": "diagnosis",
    "ICD10PCS": "procedure",
}


def extract(tables: Tables, options: SourceOptions) -> Extract:
    """Entries of both occurrence tables."""
    conditions, procedures = tables.need("condition_occurrence", "procedure_occurrence")
    dictionary = tables.find("concept")
    concepts = None
    if dictionary is not None:
        concepts = tables.read(dictionary, ["concept_id", "concept_code", "vocabulary_id"]).drop("line")
        concepts = concepts.distinct(on="concept_id")
    parts = [
        _occurrences(tables, conditions, "condition", "diagnosis", concepts, options),
        _occurrences(tables, procedures, "procedure", "procedure", concepts, options),
    ]
    note = (
        "Codes are the source values: the folder has no concept table."
        if concepts is None
        else "Codes and versions are those of the source concepts."
    )
    rows = sum(tables.staged[path.name].records for path in (conditions, procedures))
    return Extract(ibis.union(*parts), notes=(note,), rows=rows)


def _occurrences(
    tables: Tables, path: Path, domain: str, kind: Kind, concepts: Any | None, options: SourceOptions
) -> Any:
    field = f"{domain}_source_concept_id" if concepts is not None else f"{domain}_source_value"
    table = tables.read(path, [STAY, PATIENT, field])
    if concepts is None:
        return entries_of(
            table,
            file=path.name,
            field=field,
            kind=kind,
            stay=table[STAY],
            patient=table[PATIENT],
            code=table[field],
            version=options.version,
        )
    joined = table.left_join(concepts, table[field].strip() == concepts.concept_id.strip())
    vocabulary = joined.vocabulary_id
    return entries_of(
        joined,
        file=path.name,
        field=field,
        kind=vocabulary.cases(*KIND_OF_VOCABULARY.items(), else_=kind),
        stay=joined[STAY],
        patient=joined[PATIENT],
        code=joined.concept_code,
        version=vocabulary.cases(*VOCABULARIES.items(), else_=NOT_ICD).cast("int8"),
    )
