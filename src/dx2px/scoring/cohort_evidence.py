"""What a cohort says about its stays, as evidence: which rows a model needs for it, and the rows of each stay."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from dx2px.cohort.cohort import Cohort
from dx2px.ragged import Ragged
from dx2px.scoring.evidence import Evidence, EvidenceLayout, layout_of
from dx2px.scoring.known import FACTS, UNKNOWN, Known
from dx2px.scoring.scorer import Scorer

LEAST_ADMISSIONS = 30  # training stays that a type of admission needs for a row of its own


def layout_for(stays: Cohort) -> EvidenceLayout:
    """The layout for a model that learns from these stays: rows for whatever they say about themselves."""
    columns = _columns(stays)
    admissions: tuple[str, ...] = ()
    if "admission" in columns:
        found = pc.value_counts(columns["admission"].combine_chunks().cast("string")).to_pylist()
        frequent = (one["values"] for one in found if one["counts"] >= LEAST_ADMISSIONS)
        admissions = tuple(sorted(name for name in frequent if name is not None))
    named = "principal" in columns and columns["principal"].null_count < len(stays)
    return EvidenceLayout(len(stays.diagnosis_vocabulary), len(stays.procedure_vocabulary), named, admissions)


def known_of(layout: EvidenceLayout, stays: Cohort) -> Known:
    """What a cohort says about its stays; no procedure counts as coded."""
    return layout.known_from(len(stays), _columns(stays), stays.diagnosis_vocabulary.get)


def stay_rows(scorer: Scorer, stays: Cohort, evidence: Evidence = "stay") -> Ragged:
    """What a scorer is asked about stays: their diagnoses and, with `stay`, all else it can use."""
    layout = layout_of(scorer)
    if layout is None:
        return stays.diagnoses
    return layout.rows(stays.diagnoses, known_of(layout, stays) if evidence == "stay" else None)


def told_facts(scorer: Scorer, stays: Cohort) -> tuple[str, ...]:
    """The facts, by name, that some of these stays tell and that a scorer takes."""
    layout = layout_of(scorer)
    if layout is None:
        return ()
    told = (known_of(layout, stays).facts != UNKNOWN).any(axis=0)
    return tuple(name for name, some in zip(FACTS, told, strict=True) if some)


def _columns(stays: Cohort) -> Mapping[str, pa.ChunkedArray]:
    table = stays.context
    return {} if table is None else {name: table.column(name) for name in table.column_names}
