"""Models small enough to reason about, and one synthetic cohort with models trained on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from dx2px.cohort import Cohort
from dx2px.cohort.synthetic import SyntheticConfig, Truth, synthesize
from dx2px.evaluation.faithfulness import Subject
from dx2px.evaluation.run import RunConfig, train
from dx2px.inference.scoring import scorer_for
from dx2px.model.adam import AdamConfig
from dx2px.model.coupling import CouplingConfig
from dx2px.model.folder import ModelFiles, read_folder
from dx2px.model.network import ModelConfig
from dx2px.model.transport import TransportConfig
from dx2px.ragged import Ragged
from dx2px.training.config import CouplingTraining, LoopConfig, TrainingConfig

Arrays = dict[str, NDArray[np.float32]]


@dataclass(frozen=True, eq=False)
class Additive:
    """Scores that are sums over the diagnoses: every right answer can be written down."""

    W: NDArray[np.float32]

    def scores(self, diagnoses: Ragged) -> NDArray[np.float32]:
        return np.add.reduceat(self.W[diagnoses.values], diagnoses.offsets[:-1], axis=0)

    def significance(self, diagnoses: Ragged) -> NDArray[np.float32]:
        return np.repeat(1 / diagnoses.lengths, diagnoses.lengths).astype(np.float32)


def model_files(method: str, arrays: Arrays, diagnoses: int, procedures: int) -> ModelFiles:
    codes = [f"icd9cm:{i:03d}" for i in range(1, diagnoses + 1)]
    return ModelFiles(
        method, {}, codes, [f"icd9pcs:{i:04d}" for i in range(1, procedures + 1)], arrays, pa.table({}), ""
    )


@pytest.fixture
def additive() -> Callable[[NDArray[np.float32]], Subject]:
    def make(W: NDArray[np.float32]) -> Subject:
        files = model_files("linear", {"W": W, "b": np.zeros(W.shape[1], np.float32)}, *W.shape)
        return Subject("additive", files, lambda files: Additive(files.arrays["W"]))

    return make


@pytest.fixture
def coupling() -> Callable[..., Subject]:
    """A default model of random weights; without company, G and g are 0 and diagnoses do not sway each other."""

    def make(diagnoses: int = 8, procedures: int = 6, company: bool = True) -> Subject:
        rng = np.random.default_rng(3)
        shapes = {
            "U": (diagnoses, 5),
            "V": (procedures, 5),
            "G": (5, 5),
            "g": (5,),
            "s": (diagnoses,),
            "b": (procedures,),
        }
        arrays = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
        if not company:
            arrays |= {name: np.zeros_like(arrays[name]) for name in "Gg"}
        return Subject("coupling", model_files("coupling", arrays, diagnoses, procedures), scorer_for)

    return make


@pytest.fixture
def attention() -> Subject:
    """The paper's model of random weights."""
    rng = np.random.default_rng(4)
    shapes = {"U": (9, 6), "V": (7, 6), "A": (2, 6, 6), "a": (2, 6), "B": (2, 2), "b": (2,)}
    arrays = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return Subject("paper", model_files("e+sa+ma", arrays, 9, 7), scorer_for)


@dataclass(frozen=True, eq=False)
class World:
    """A synthetic cohort on disk and the folders of models trained on it."""

    path: Path
    cohort: Cohort
    truth: Truth
    models: dict[str, Path]

    def subject(self, name: str) -> Subject:
        return Subject(name, read_folder(self.models[name]), scorer_for)


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("faithfulness")
    path = folder / "c.parquet"
    synthesize(path, SyntheticConfig(stays=3000, diagnoses=60, procedures=20, diagnoses_per_stay=6.0), seed=1)
    cohort = Cohort.load(path)
    paper = ModelConfig(dim=24, heads=2)
    runs: dict[str, LoopConfig] = {
        "default-0": CouplingTraining(epochs=8, batch_size=60, model=CouplingConfig(dim=24)),
        "default-1": CouplingTraining(epochs=8, batch_size=60, model=CouplingConfig(dim=24), seed=1),
        "paper": TrainingConfig(epochs=6, batch_size=60, model=paper, adam=AdamConfig(lr=0.01)),
        "relaxed": TrainingConfig(
            epochs=2, model=paper, adam=AdamConfig(lr=0.01), transport=TransportConfig.semi_relaxed()
        ),
    }
    models = {name: folder / name for name in runs}
    for name, config in runs.items():
        train(cohort, RunConfig(config), threads=1).save(models[name])
    return World(path, cohort, Truth.load(path), models)
