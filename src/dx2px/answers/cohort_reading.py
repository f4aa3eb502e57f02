"""A cohort as a model reads it: diagnoses of the other ICD version translated, ICD-10-PCS codes as their families."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from dx2px.answers.encoding import distinct
from dx2px.answers.mapping import Translation
from dx2px.answers.model import Model
from dx2px.codes import gives_way_to
from dx2px.cohort import Cohort, Vocabulary
from dx2px.ragged import Ragged

Read = Callable[[str], Sequence[str]]  # the codes that a code is read as


@dataclass(frozen=True, eq=False)
class CohortReading:
    """The cohort in the model's words, and how its diagnoses were translated.

    Attributes:
        cohort: The cohort.
        mapping: Diagnoses of another version by kind of mapping, each once per stay.
        in_families: Entries of procedures that count as the family that holds them.
    """

    cohort: Cohort
    mapping: Mapping[str, int]
    in_families: int


def read_by(model: Model, cohort: Cohort, allowed: bool = True) -> CohortReading:
    """The cohort as the model reads it; the very cohort if there is nothing to read otherwise.

    A diagnosis without an equivalent and a procedure in no family stay as they are, so that whoever measures counts
    them as unknown.

    Raises:
        OtherVersionError: Diagnoses would have to be translated, and that is not allowed.
    """
    translation = Translation(model.diagnoses, model.files.diagnosis_counts, allowed)
    found = {code: translation(code) for code in cohort.diagnosis_vocabulary}
    kinds: Counter[str] = Counter()
    for one, stays in zip(found.values(), cohort.diagnosis_counts.tolist(), strict=True):
        if one is not None:
            kinds[one.kind] += stays
    known = {code: model.procedures.find(code) for code in cohort.procedure_vocabulary}
    families = {code: one.code for code, one in known.items() if one.index is not None and one.code != code}
    entries = int(sum(cohort.procedure_counts[cohort.procedure_vocabulary.index(code)] for code in families))
    if kinds:
        implied = {code: one.implied for code, one in found.items() if one is not None and one.implied}
        cohort = _with_diagnoses(cohort, lambda code: _targets(translation, code), implied)
    if families:
        read = _read(cohort.procedures, cohort.procedure_vocabulary, lambda code: (families.get(code, code),))
        cohort = replace(cohort, procedures=read[0], procedure_vocabulary=read[1])
    return CohortReading(cohort, dict(kinds), entries)


def _targets(translation: Translation, code: str) -> Sequence[str]:
    one = translation(code)
    return one.to if one is not None and one.to else (code,)


def _with_diagnoses(cohort: Cohort, read: Read, implied: Mapping[str, Sequence[str]]) -> Cohort:
    """The cohort with other diagnoses, and other principal ones: of several, the first."""
    rows, vocabulary = _read(cohort.diagnoses, cohort.diagnosis_vocabulary, read)
    rows = _settled(cohort, implied, rows, vocabulary)
    context = cohort.context
    if context is not None and "principal" in context.column_names:
        texts = context.column("principal").combine_chunks().dictionary_encode()
        codes = pa.array([code and read(code)[0] for code in texts.dictionary.to_pylist()], pa.string())
        place = context.column_names.index("principal")
        context = context.set_column(place, "principal", codes.take(texts.indices))
    return replace(cohort, diagnoses=rows, diagnosis_vocabulary=vocabulary, context=context)


def _settled(
    cohort: Cohort, implied: Mapping[str, Sequence[str]], rows: Ragged, vocabulary: Vocabulary
) -> Ragged:
    """The codes without those that a diagnosis only implied and that give way to others of their stay."""
    kept = np.ones(len(rows.values), np.bool_)
    stay, before = rows.row_of_entry, cohort.diagnoses
    for code in sorted({part for parts in implied.values() for part in parts}):
        sources = [
            cohort.diagnosis_vocabulary.index(source) for source, parts in implied.items() if code in parts
        ]
        from_them = np.isin(stay, before.row_of_entry[np.isin(before.values, sources)])
        others = [place for one in gives_way_to(code) if (place := vocabulary.get(one)) is not None]
        beside = np.isin(stay, stay[np.isin(rows.values, others)])
        kept &= ~((rows.values == vocabulary.index(code)) & from_them & beside)
    return rows.filtered(kept)


def _read(rows: Ragged, own: Vocabulary, read: Read) -> tuple[Ragged, Vocabulary]:
    """The codes of stays read as others, each once per stay, and all of them."""
    lists = [read(code) for code in own]
    vocabulary = Vocabulary.sorted(code for codes in lists for code in codes)
    found = Ragged.from_lists([vocabulary.index(code) for code in codes] for codes in lists).take(rows.values)
    repeated = Ragged(found.offsets[rows.offsets], found.values)
    offsets, first = distinct(repeated)
    return (repeated if first is None else Ragged(offsets, repeated.values[first])), vocabulary
