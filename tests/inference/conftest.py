"""A small model with planted vectors, whose answers are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from dx2px.inference import Model
from dx2px.model.calibration import Calibration, Curve
from dx2px.model.folder import ModelFiles, write_folder

DIAGNOSES = ("icd10cm:E030", "icd9cm:0389", "icd9cm:25000", "icd9cm:4280", "icd9cm:E030")
PROCEDURES = ("icd9pcs:0017", "icd9pcs:0389", "icd9pcs:3722", "icd9pcs:3995")
# 4280 goes with 3722 and a little with 0017, 25000 with 3995, 0389 with 0389; the two E030 with nothing.
U = [[0, 0, 0, 0], [0, 0, 0, 3], [0, 3, 0, 0], [3, 0, 1, 0], [0, 0, 0, 0]]
V = [[0, 0, 2, 0], [0, 0, 0, 2], [2, 0, 0, 0], [0, 2, 0, 0]]

# Leaves scores as they are, so that probabilities are sigmoids.
_IDENTITY = Curve(np.array([-20.0, 20.0]), np.array([-20.0, 20.0]))
SIGMOID = Calibration(
    centred=False,
    first=_IDENTITY,
    weights=np.array([1.0, 0.0, 0.0, 0.0]),
    second=_IDENTITY,
    coverages=np.array([0.5, 0.9]),
    thresholds=np.array([0.9, 0.6]),
)


def planted(method: str = "e+sa+ma") -> ModelFiles:
    rng = np.random.default_rng(0)
    arrays = {"U": np.array(U, np.float32), "V": np.array(V, np.float32)}
    if "+sa" in method:
        shapes = {"A": (2, 4, 4), "a": (2, 4), "B": (2, 2), "b": (2,)}
        arrays |= {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    return ModelFiles(
        method=method,
        settings={"model": {"dim": 4, "heads": 2}},
        diagnoses=DIAGNOSES,
        procedures=PROCEDURES,
        arrays=arrays,
        history=pa.table({"epoch": [1]}),
        card="# Planted\n",
        calibration=SIGMOID,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_folder(tmp_path / "model", planted())
    return tmp_path / "model"


@pytest.fixture
def model(folder: Path) -> Model:
    return Model.load(folder)
