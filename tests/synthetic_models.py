"""Synthetic models that several tests share: one with planted vectors, whose answers are known, and random ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from dx2px.cohort import Cohort, Ragged
from dx2px.scoring.alternatives import Alternatives
from dx2px.scoring.calibration import Calibration
from dx2px.scoring.correction import Correction
from dx2px.scoring.curve import Curve
from dx2px.scoring.evidence import AGES, EvidenceLayout
from dx2px.scoring.folder import ModelFiles
from dx2px.scoring.head import Head
from dx2px.scoring.methods import METHODS
from dx2px.scoring.rest import Rest
from dx2px.scoring.segments import Floats

DIAGNOSES = ("icd10cm:E030", "icd9cm:0389", "icd9cm:25000", "icd9cm:4280", "icd9cm:E030")
PROCEDURES = ("icd9pcs:0017", "icd9pcs:0389", "icd9pcs:3722", "icd9pcs:3995")
# 4280 goes with 3722 and a little with 0017, 25000 with 3995, 0389 with 0389; the two E030 with nothing.
U = [[0, 0, 0, 0], [0, 0, 0, 3], [0, 3, 0, 0], [3, 0, 1, 0], [0, 0, 0, 0]]
V = [[0, 0, 2, 0], [0, 0, 0, 2], [2, 0, 0, 0], [0, 2, 0, 0]]

# Leaves scores as they are, so that a probability is the sigmoid of its score.
_IDENTITY = Curve(np.array([-20.0, 20.0]), np.array([-20.0, 20.0]))
SIGMOID = Calibration(
    centred=False,
    first=_IDENTITY,
    weights=np.array([1.0, 0.0, 0.0, 0.0]),
    second=_IDENTITY,
    coverages=np.array([0.5, 0.9]),
    thresholds=np.array([0.9, 0.6]),
)


def exclusive_stays(number: int, seed: int, others: Sequence[int]) -> Cohort:
    """Procedures: 0 or 1, never both; 2 goes with 0 four times in five, each of the others with anything."""
    rng = np.random.default_rng(seed)
    procedures = []
    for _ in range(number):
        one = int(rng.integers(2))
        third = [2] if one == 0 and rng.random() < 0.8 else []
        procedures.append([one, *third, *(other for other in others if rng.random() < 1 / 3)])
    listed = [[f"icd9pcs:100{p}" for p in some] for some in procedures]
    return Cohort.from_lists([["icd9cm:4280"]] * number, listed)


def even_scores(layout: EvidenceLayout, rows: Ragged) -> Floats:
    """A method that knows nothing but what is coded already."""
    scores = np.zeros((len(rows), layout.procedures), np.float32)
    scores[layout.coded_in(rows)] = -np.inf
    return scores


def planted_files(method: str, **changes: Any) -> ModelFiles:
    """The planted vectors, with random attention if the method has attention."""
    rng = np.random.default_rng(0)
    arrays = {"U": np.array(U, np.float32), "V": np.array(V, np.float32)}
    if "+sa" in method:
        shapes = {"A": (2, 4, 4), "a": (2, 4), "B": (2, 2), "b": (2,)}
        arrays |= {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    files = ModelFiles(
        method=method,
        settings={"model": {"dim": 4, "heads": 2}},
        diagnoses=DIAGNOSES,
        procedures=PROCEDURES,
        arrays=arrays,
        history=pa.table({"epoch": [1]}),
        card="# Planted\n",
        calibration=SIGMOID,
    )
    return replace(files, **changes)


def random_files(
    method: str, diagnoses: int, procedures: int, dim: int, heads: int, seed: int = 0, **changes: Any
) -> ModelFiles:
    """Random weights; the vocabulary holds every fourth number from 4000 as an ICD-9 diagnosis."""
    rng = np.random.default_rng(seed)
    sizes = {"diagnosis": diagnoses, "procedure": procedures, "dim": dim, "head": heads}
    files = ModelFiles(
        method=method,
        settings={"model": {"dim": dim, "heads": heads}},
        diagnoses=tuple(f"icd9cm:{4000 + 4 * i}" for i in range(diagnoses)),
        procedures=tuple(f"icd9pcs:{3000 + i}" for i in range(procedures)),
        arrays={
            name: rng.normal(size=tuple(sizes[axis] for axis in axes)).astype(np.float32)
            for name, axes in METHODS[method].arrays.items()
        },
        history=pa.table({"epoch": [1]}),
        card="# Random\n",
    )
    return replace(files, **changes)


def partly_learned(method: str, seed: int = 0, **changes: Any) -> ModelFiles:
    """Random weights for 120 diagnoses and 30 procedures; every tenth diagnosis occurred in no training stay."""
    counts = tuple(0 if place % 10 == 3 else place + 1 for place in range(120))
    files = random_files(method, 120, 30, dim=24, heads=4, seed=seed, diagnosis_counts=counts, settings={})
    arrays = dict(files.arrays)
    if "seen" in arrays:
        arrays["seen"] = (np.array(counts) > 0).astype(np.float32)
    return replace(files, arrays=arrays, **changes)


# With a hip fracture goes an open or a closed reduction, never both; with the open one a transfusion; with a weak heart
# an echocardiogram.
HIP, HEART = "icd9cm:82021", "icd9cm:4280"
CLOSED, OPEN, ECHO, TRANSFUSION = "icd9pcs:7915", "icd9pcs:7935", "icd9pcs:8872", "icd9pcs:9904"


def beside_files() -> ModelFiles:
    """A model that takes coded procedures as evidence, with planted log odds of each row and procedure."""
    low = -8.0
    log_odds = {  # closed, open, echo, transfusion
        "U": [[low, low, 2.0, low], [1.5, 1.0, low, low]],
        "coded_U": [[low] * 4, [low, low, low, 3.0], [low] * 4, [low] * 4],
        "context_U": [[-6.0] * 4, *([[low] * 4] * 45)],
    }
    arrays = {name: np.array(rows, np.float32) for name, rows in log_odds.items()}
    arrays |= {name.replace("U", "s"): np.zeros(len(rows), np.float32) for name, rows in log_odds.items()}
    zeros = np.zeros(4, np.float32)
    arrays |= {"V": np.eye(4, dtype=np.float32), "G": np.zeros((4, 4), np.float32), "g": zeros, "b": zeros}
    one_each = np.array(
        [[4.0, 0.0], [0.0, 4.0], [0, 0], [0, 0]], np.float32
    )  # closed excludes open, and open closed
    the_other = np.array([[0.0, -2.0], [-2.0, 0.0], [0, 0], [0, 0]], np.float32)
    rest = Rest(zeros + 1, zeros, one_each, the_other, 1.0, 0.0)
    unchanged = Head(zeros + 1, zeros, zeros[:, None], zeros[:, None], 1.0, 0.0)
    parts = {"head": unchanged, "alternatives": Alternatives([(0, 1)]), "rest": rest}
    calibration = replace(SIGMOID, completion=Correction(1.0, 0.0, 0.0), **parts)
    return ModelFiles(
        method="coupling",
        settings={"evidence": {"ages": list(AGES), "admissions": []}},
        diagnoses=(HEART, HIP),
        procedures=(CLOSED, OPEN, ECHO, TRANSFUSION),
        arrays=arrays,
        history=pa.table({"epoch": [1]}),
        card="# Planted\n",
        calibration=calibration,
    )
