"""The OMOP common data model: `condition_occurrence` and `procedure_occurrence` by `visit_occurrence_id`.

With a `concept` table, the source concept gives the code and its vocabulary, and the vocabulary gives the kind (OMOP
files some diagnosis codes as procedures). Without one, the source values are read as ICD codes of one version.

With `visit_occurrence` and `person`, stays have an age and a sex. OMOP has no type of admission.
"""

from __future__ import annotations

from typing import Any

import ibis

from dx2px.codes import Kind
from dx2px.cohort.sources.entries import (
    LESS_PRINCIPAL,
    NOT_ICD,
    PRINCIPAL,
    Extract,
    entries_of,
    text,
    whole_number,
)
from dx2px.cohort.sources.source_options import SourceOptions
from dx2px.cohort.sources.source_tables import Tables
from dx2px.cohort.sources.stay_context import one_per_stay, plausible, sex_of, unknown, year_of

STAY, PATIENT = "visit_occurrence_id", "person_id"
VOCABULARIES = {"ICD9CM": 9, "ICD9Proc": 9, "ICD10CM": 10, "ICD10PCS": 10}
KIND_OF_VOCABULARY: dict[str, Kind] = {
    "ICD9CM": "diagnosis",
    "ICD9Proc": "procedure",
    "ICD10CM": "diagnosis",
    "ICD10PCS": "procedure",
}
# The concepts by which a condition is the principal diagnosis. "First position" (38000184, 38000200, 44786628) is not
# among them: where a claim names its principal diagnosis apart, the first position holds the first secondary one.
STATUS, TYPE = "condition_status_concept_id", "condition_type_concept_id"
PRINCIPAL_CONCEPTS = {
    STATUS: {
        "32902": PRINCIPAL,  # Primary diagnosis
        "32903": PRINCIPAL,  # Primary discharge diagnosis
        "32901": LESS_PRINCIPAL,  # Primary admission diagnosis
    },
    TYPE: {
        "44786627": PRINCIPAL,  # Primary Condition
        "38000183": PRINCIPAL,  # Inpatient detail - primary
        "38000199": PRINCIPAL,  # Inpatient header - primary
    },
}
START, BIRTH, SEX = "visit_start_date", "year_of_birth", "gender_concept_id"


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
    context = _context(tables)
    notes = (note,) if context is None else (note, "Ages are the year of the visit minus the year of birth.")
    return Extract(ibis.union(*parts), context, notes, rows=rows)


def _context(tables: Tables) -> Any | None:
    """Age and sex of each visit's person, if both tables are there."""
    visits, people = tables.find("visit_occurrence"), tables.find("person")
    if visits is None or people is None:
        return None
    stays = tables.read(visits, [STAY, PATIENT], [START])
    persons = tables.read(people, [PATIENT], [BIRTH, SEX]).drop("line").rename(person=PATIENT)
    stays = stays.left_join(persons, text(stays[PATIENT]) == text(persons.person))
    known = {"age": unknown("age"), "sex": unknown("sex")}
    if {START, BIRTH} <= set(stays.columns):
        known["age"] = plausible(year_of(stays[START]) - whole_number(stays[BIRTH]))
    if SEX in stays.columns:
        known["sex"] = sex_of(stays[SEX])
    return one_per_stay(stays.select(stay=text(stays[STAY]), **known))


def _principal(table: Any) -> Any | None:
    """Whether the status or the type of a condition makes it the principal diagnosis; the status says it better."""
    marks = [
        text(table[column]).cases(*ranks.items(), else_=ibis.null("int8"))
        for column, ranks in PRINCIPAL_CONCEPTS.items()
        if column in table.columns
    ]
    return ibis.coalesce(*marks) if marks else None


def _occurrences(
    tables: Tables, path: Any, domain: str, kind: Kind, concepts: Any | None, options: SourceOptions
) -> Any:
    field = f"{domain}_source_concept_id" if concepts is not None else f"{domain}_source_value"
    order = f"{domain}_occurrence_id"
    table = tables.read(path, [STAY, PATIENT, field], [order, *PRINCIPAL_CONCEPTS])
    kinds, version, code = kind, options.version(kind), field
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
        principal=_principal(table),
    )
