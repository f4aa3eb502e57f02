"""Codes that many readers know, whose nearest codes are worth a look."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dx2px.scoring.folder import ModelFiles

WELL_KNOWN = (
    "icd9cm:4280",  # heart failure
    "icd9cm:41071",  # heart attack
    "icd9cm:25000",  # diabetes
    "icd9cm:5856",  # end stage renal disease
    "icd9cm:486",  # pneumonia
    "icd9cm:0389",  # septicaemia
    "icd9cm:82021",  # broken hip
    "icd9cm:43491",  # stroke
    "icd9cm:V3000",  # a birth
    "icd9pcs:3995",  # haemodialysis
    "icd9pcs:3606",  # coronary stent
    "icd9pcs:8154",  # new knee
    "icd9pcs:9671",  # ventilation
    "icd9pcs:741",  # Caesarean section
    "icd9pcs:5123",  # gall bladder
    "icd10cm:I509",
    "icd10cm:I214",
    "icd10cm:E119",
    "icd10cm:N186",
    "icd10cm:J189",
    "icd10cm:A419",
    "icd10cm:S72141A",
    "icd10cm:I639",
    "icd10cm:Z3800",
    "icd10pcs:5A1D70Z",
    "icd10pcs:027034Z",
    "icd10pcs:0SRD0J9",
    "icd10pcs:5A1945Z",
    "icd10pcs:10D00Z1",
    "icd10pcs:0FT44ZZ",
)
EACH = 6  # of each kind, where the model has as many


def landmarks(files: ModelFiles) -> list[str]:
    """Well-known codes that the model learned, then its most frequent ones up to `EACH` of each kind."""
    sides = ((files.diagnoses, files.diagnosis_counts), (files.procedures, files.procedure_counts))
    return [code for codes, counts in sides for code in _some(codes, counts)]


def _some(codes: Sequence[str], counts: Sequence[int] | None) -> list[str]:
    known = set(codes)
    chosen = [code for code in WELL_KNOWN if code in known]
    if len(chosen) < EACH:
        order = (
            range(len(codes)) if counts is None else np.argsort(-np.asarray(counts), kind="stable").tolist()
        )
        frequent = [codes[index] for index in order if codes[index] not in chosen]
        chosen += frequent[: EACH - len(chosen)]
    return chosen
