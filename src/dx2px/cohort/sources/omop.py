"""The OMOP common data model: `condition_occurrence` and `procedure_occurrence` by `visit_occurrence_id`.

With a `concept` table, the source concept gives the code and its vocabulary, and the vocabulary gives the kind (OMOP
files some diagnosis codes as procedures). Without one, the source values are read as ICD codes of one version.
"""

from __future__ import annotations

from typing import Any

import ibis

from dx2px.codes import Kind
from dx2px.cohort.sources.entries import NOT_ICD, Extract, entries_of, text
from dx2px.cohort.sources.source_options import SourceOptions
from dx2px.cohort.sources.source_tables import Tables

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
        number = text(concepts.concept_id)
        # Ids are unique; should one appear twice, no entry may be doubled and the engines must agree.
        concepts = concepts.group_by(concept_id=number).agg(
            concept_code=concepts.concept_code.min(), vocabulary_id=concepts.vocabulary_id.min()
        )
    parts = [
        _occurrences(tables, conditions, "condition", "diagnosis", concepts, options),
        _occurrences(tables, procedures, "procedure", "procedure", concepts, options),
    ]
    note = (
        "There is no concept table, so the source values are read as the codes."
        if concepts is None
        else "Codes and ICD versions are taken from the source concepts."
    )
    rows = tables.rows(conditions) + tables.rows(procedures)
    return Extract(ibis.union(*parts), notes=(note,), rows=rows)


def _occurrences(
    tables: Tables, path: Any, domain: str, kind: Kind, concepts: Any | None, options: SourceOptions
) -> Any:
    field = f"{domain}_source_concept_id" if concepts is not None else f"{domain}_source_value"
    order = f"{domain}_occurrence_id"
    table = tables.read(path, [STAY, PATIENT, field], [order])
    kinds, version, code = kind, options.version, field
    if concepts is not None:
        table = table.left_join(concepts, text(table[field]) == concepts.concept_id)
        kinds = table.vocabulary_id.cases(*KIND_OF_VOCABULARY.items(), else_=kind)
        version = table.vocabulary_id.cases(*VOCABULARIES.items(), else_=NOT_ICD).cast("int8")
        code = "concept_code"
    return entries_of(
        table,
        file=path.name,
        field=field,
        kind=kinds,
        stay=table[STAY],
        patient=table[PATIENT],
        position=table[order] if order in table.columns else None,
        code=table[code],
        version=version,
    )
