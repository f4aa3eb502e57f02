"""Stays whose facts decide their procedures, and a small model trained on them; several tests share both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from dx2px.cohort import Cohort
from dx2px.methods.coupling import CouplingConfig, CouplingModel, CouplingTraining
from dx2px.scoring.evidence import Evidence
from dx2px.training.run import Trained, learn

HIP, HEART, HYPERTENSION = "icd9cm:82021", "icd9cm:4280", "icd9cm:4019"
OPEN, CLOSED, ECHO, TRANSFUSION = "icd9pcs:7935", "icd9pcs:7915", "icd9pcs:8872", "icd9pcs:9904"
STAYS = 900


def stays() -> Cohort:
    """Old people get the open reduction, young ones the closed; who has the open one is transfused.

    Who has the heart as principal diagnosis gets the echo.
    """
    rng = np.random.default_rng(4)
    diagnoses, procedures, rows = [], [], []
    for n in range(STAYS):
        old, heart = bool(rng.integers(2)), bool(rng.integers(2))
        diagnoses.append([HEART, HIP, HYPERTENSION] if heart else [HIP, HEART, HYPERTENSION])
        procedures.append(([OPEN, TRANSFUSION] if old else [CLOSED]) + ([ECHO] if heart else []))
        admission = "elective" if n % 3 else "emergency"
        rows.append((HEART if heart else HIP, 80 if old else 30, "FM"[n % 2], admission))
    principal, age, sex, admission = zip(*rows, strict=True)
    columns: dict[str, Any] = {"principal": principal, "age": age, "sex": sex, "admission": admission}
    types = {"age": pa.int32()}
    context = pa.table({k: pa.array(v, types.get(k, pa.string())) for k, v in columns.items()})
    return replace(Cohort.from_lists(diagnoses, procedures), context=context)


def trained(evidence: Evidence) -> Trained:
    config = CouplingTraining(
        epochs=12, batch_size=50, model=CouplingConfig(dim=16, dropout=0.1, evidence=evidence)
    )
    return learn(stays(), CouplingModel(config), seed=1, threads=1)
