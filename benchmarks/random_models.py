"""Models with random weights, which cost as much to run as trained ones.

Shared by the benchmarks; not run by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from dx2px.scoring.calibration import Calibration, Curve
from dx2px.scoring.folder import ModelFiles, write_folder
from dx2px.scoring.methods import METHODS

DIM, HEADS = 200, 8
KNOTS = np.linspace(-6, 6, 60)


def random_arrays(method: str, diagnoses: int, procedures: int) -> dict[str, np.ndarray]:
    """The arrays of a method, drawn at random."""
    rng = np.random.default_rng(0)
    sizes = {"diagnosis": diagnoses, "procedure": procedures, "dim": DIM, "head": HEADS}
    shapes = {name: tuple(sizes[axis] for axis in axes) for name, axes in METHODS[method].arrays.items()}
    return {
        name: (rng.standard_normal(shape) / shape[-1] ** 0.5).astype(np.float32)
        for name, shape in shapes.items()
    }


def write_random_model(path: Path, method: str, diagnoses: Sequence[str], procedures: Sequence[str]) -> Path:
    """A model folder with random weights and a calibration of the usual size."""
    curve = Curve(KNOTS, np.sinh(KNOTS / 3))
    weights = np.array([1.0, 0.1, 0.1, 0.0])
    calibration = Calibration(False, curve, weights, curve, np.array([0.9]), np.array([0.1]))
    files = ModelFiles(
        method=method,
        settings={"model": {"dim": DIM, "heads": HEADS}},
        diagnoses=tuple(diagnoses),
        procedures=tuple(procedures),
        arrays=random_arrays(method, len(diagnoses), len(procedures)),
        history=pa.table({"epoch": [1]}),
        card="# Random weights, for benchmarks\n",
        calibration=calibration,
    )
    write_folder(path, files)
    return path
