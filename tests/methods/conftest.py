"""Cohorts whose answer is known, and every method in a size that fits them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from dx2px.cohort import Cohort, Ragged
from dx2px.methods.bpr import Bpr, BprConfig
from dx2px.methods.cooccurrence import Cooccurrence
from dx2px.methods.coupling import CouplingConfig, CouplingModel, CouplingTraining
from dx2px.methods.dwl import Dwl, DwlConfig
from dx2px.methods.gwl import Gwl, GwlConfig
from dx2px.methods.linear import Linear
from dx2px.methods.mlp import Mlp, MlpConfig
from dx2px.methods.paper import PaperConfig, PaperModel, PaperTraining
from dx2px.methods.popularity import Popularity
from dx2px.methods.word2vec import Word2Vec, Word2VecConfig
from dx2px.scoring.methods import VARIANTS
from dx2px.training.adam import AdamConfig
from dx2px.training.recommender import Recommender

LINKS = 12
COMMON, STRANGE = "icd9pcs:9900", "icd9cm:99900"

WORD2VEC = Word2VecConfig(dim=16, lr=0.01, epochs=60, batch_size=50)
QUICK: Mapping[str, Callable[[], Recommender]] = {
    "popularity": Popularity,
    "cooccurrence": Cooccurrence,
    "word2vec": lambda: Word2Vec(WORD2VEC),
    "bpr": lambda: Bpr(BprConfig(ridges=(0.0, 1e-3), dim=16, lr=0.01, epochs=60, batch_size=50)),
    "dwl": lambda: Dwl(DwlConfig(topics=3, updates=6, iterations=5, batch_size=50, word2vec=WORD2VEC)),
    "gwl": lambda: Gwl(GwlConfig(rounds=4, epochs=40, lr=0.01)),
    "linear": Linear,
    **{
        variant: partial(
            PaperModel,
            PaperTraining(
                model=PaperConfig(variant, dim=16, heads=2), adam=AdamConfig(0.01), epochs=40, batch_size=50
            ),
        )
        for variant in VARIANTS
    },
    "coupling": lambda: CouplingModel(CouplingTraining(model=CouplingConfig(dim=16), batch_size=20)),
    "mlp": lambda: Mlp(
        MlpConfig(("softmax", "bce"), 0.3, (), (), hidden=32, lr=0.01, batch_size=50, patience=10)
    ),
}


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Small problems: threads only wait for each other."""
    torch.set_num_threads(1)


@dataclass(frozen=True, eq=False)
class Planted:
    """Diagnosis n brings procedure n; no stay has one diagnosis alone, so each link has to be told from its context.

    One procedure is common and goes with nothing; one diagnosis occurs in a validation stay only.
    """

    cohort: Cohort
    training: NDArray[np.int64]
    validation: NDArray[np.int64]
    stranger: int  # index of the diagnosis that training never saw

    @property
    def single(self) -> Ragged:
        """A stay of each linked diagnosis alone."""
        return Ragged.from_lists([[d] for d in range(LINKS)])

    def fit(self, method: Recommender, seed: int = 0) -> Recommender:
        return method.fit(self.cohort, self.training, self.validation, seed=seed)


def plant(common: float) -> Planted:
    rng = np.random.default_rng(0)
    diagnoses, procedures = [], []
    for pair in [*combinations(range(LINKS), 2)] * 4:
        linked = [f"icd9pcs:{3700 + n}" for n in pair if rng.random() < 0.9] or [f"icd9pcs:{3700 + pair[0]}"]
        diagnoses.append([f"icd9cm:{400 + n}" for n in pair])
        procedures.append([*linked, COMMON] if rng.random() < common else linked)
    order = rng.permutation(len(diagnoses))
    cohort = Cohort.from_lists(
        [diagnoses[i] for i in order] + [["icd9cm:400", STRANGE]],
        [procedures[i] for i in order] + [["icd9pcs:3700"]],
    )
    rows = np.arange(len(cohort))
    stranger = cohort.diagnosis_vocabulary.index(STRANGE)
    return Planted(cohort, rows[:-50], rows[-50:], stranger)


@pytest.fixture(scope="session")
def planted() -> Planted:
    return plant(common=0.15)


@pytest.fixture(scope="session")
def clear() -> Planted:
    """Without the common procedure. Methods that score by distance put it in the middle, near to everything."""
    return plant(common=0.0)


@pytest.fixture(scope="session")
def fitted(planted: Planted, clear: Planted) -> Callable[..., Recommender]:
    """Each method fitted once to a planted cohort."""
    known: dict[tuple[str, bool], Recommender] = {}

    def get(name: str, to: Planted = planted) -> Recommender:
        key = name, to is clear
        if key not in known:
            torch.set_num_threads(1)
            known[key] = to.fit(QUICK[name]())
        return known[key]

    return get


@pytest.fixture(scope="session")
def quick() -> Mapping[str, Callable[[], Recommender]]:
    return QUICK
