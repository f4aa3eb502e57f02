"""Models small enough to reason about, and one synthetic cohort with models trained on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from dx2px.cohort import Cohort
from dx2px.lab.faithfulness import Subject
from dx2px.lab.synthetic import SyntheticConfig, Truth, synthesize
from dx2px.methods.coupling import CouplingConfig, CouplingTraining
from dx2px.methods.paper import PaperConfig, PaperTraining, TransportConfig
from dx2px.methods.train import RunConfig, train
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.folder import ModelFiles, read_folder
from dx2px.training.adam import AdamConfig
from dx2px.training.config import LoopConfig

Arrays = dict[str, NDArray[np.float32]]


def model_files(method: str, arrays: Arrays, diagnoses: int, procedures: int) -> ModelFiles:
    codes = [f"icd9cm:{i:03d}" for i in range(1, diagnoses + 1)]
    return ModelFiles(
        method, {}, codes, [f"icd9pcs:{i:04d}" for i in range(1, procedures + 1)], arrays, pa.table({}), ""
    )


@pytest.fixture
def additive() -> Callable[[NDArray[np.float32]], Subject]:
    """A linear model: scores are sums over the diagnoses, so every right answer can be written down."""

    def make(W: NDArray[np.float32]) -> Subject:
        ones, zeros = np.ones(W.shape[0], np.float32), np.zeros(W.shape[1], np.float32)
        arrays = {"W": W, "b": zeros, "seen": ones, "popularity": zeros}
        return Subject("additive", model_files("linear", arrays, *W.shape))

    return make


@pytest.fixture
def coupling() -> Callable[..., Subject]:
    """A default model of random weights; without context, G and g are 0 and diagnoses do not change each other."""

    def make(
        diagnoses: int = 8, procedures: int = 6, context: bool = True, evidence: bool = False
    ) -> Subject:
        rng = np.random.default_rng(3)
        shapes = {
            "U": (diagnoses, 5),
            "V": (procedures, 5),
            "G": (5, 5),
            "g": (5,),
            "s": (diagnoses,),
            "b": (procedures,),
        }
        layout = EvidenceLayout(diagnoses, procedures, principal=True)
        if evidence:
            sizes = {"principal": diagnoses, "coded": procedures, "context": layout.context}
            shapes |= {f"{kind}_U": (size, 5) for kind, size in sizes.items()}
            shapes |= {f"{kind}_s": (size,) for kind, size in sizes.items()}
        arrays = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
        if not context:
            arrays |= {name: np.zeros_like(arrays[name]) for name in "Gg"}
        files = model_files("coupling", arrays, diagnoses, procedures)
        return Subject("coupling", replace(files, settings={"evidence": layout.to_dict()}))

    return make


@pytest.fixture
def attention() -> Subject:
    """The paper's model of random weights."""
    rng = np.random.default_rng(4)
    shapes = {"U": (9, 6), "V": (7, 6), "A": (2, 6, 6), "a": (2, 6), "B": (2, 2), "b": (2,)}
    arrays = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return Subject("paper", model_files("e+sa+ma", arrays, 9, 7))


@dataclass(frozen=True, eq=False)
class World:
    """A synthetic cohort on disk and the folders of models trained on it."""

    path: Path
    cohort: Cohort
    truth: Truth
    models: dict[str, Path]

    def subject(self, name: str) -> Subject:
        return Subject(name, read_folder(self.models[name]))


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("faithfulness")
    path = folder / "c.parquet"
    synthesize(path, SyntheticConfig(stays=3000, diagnoses=60, procedures=20, diagnoses_per_stay=6.0), seed=1)
    cohort = Cohort.load(path)
    paper = PaperConfig(dim=24, heads=2)
    runs: dict[str, LoopConfig] = {
        "default-0": CouplingTraining(epochs=8, batch_size=60, model=CouplingConfig(dim=24)),
        "default-1": CouplingTraining(epochs=8, batch_size=60, model=CouplingConfig(dim=24), seed=1),
        "paper": PaperTraining(epochs=6, batch_size=60, model=paper, adam=AdamConfig(lr=0.01)),
        "relaxed": PaperTraining(
            epochs=2, model=paper, adam=AdamConfig(lr=0.01), transport=TransportConfig.semi_relaxed()
        ),
    }
    models = {name: folder / name for name in runs}
    for name, config in runs.items():
        train(cohort, RunConfig(config), threads=1).save(models[name])
    return World(path, cohort, Truth.load(path), models)
