"""The order of the codes is a matter of numbering: permuting it changes no metric.

Methods that draw are given the permuted draw: their first vectors move with the codes. BPR's negatives, DWL's topics
and the perceptron's weights are drawn by index, so that only their distribution is free of the order.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from dx2px.cohort import Cohort, Ragged, Vocabulary
from dx2px.lab.synthetic import SyntheticConfig, generate
from dx2px.methods import word2vec
from dx2px.methods.cooccurrence import Cooccurrence
from dx2px.methods.gwl import Gwl, GwlConfig, gwl
from dx2px.methods.linear import Linear
from dx2px.methods.popularity import Popularity
from dx2px.methods.word2vec import Word2Vec, Word2VecConfig
from dx2px.scoring.metrics import evaluate
from dx2px.training.recommender import Recommender

ROWS = np.arange(800)


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    return generate(SyntheticConfig(stays=1000, diagnoses=60, procedures=25, rarest_diagnosis=0.02))[0]


@pytest.fixture(scope="module")
def orders(cohort: Cohort) -> tuple[np.ndarray, np.ndarray]:
    """The old index of each new one."""
    rng = np.random.default_rng(0)
    d, p = (rng.permutation(len(v)) for v in (cohort.diagnosis_vocabulary, cohort.procedure_vocabulary))
    return d, p


@pytest.fixture(scope="module")
def permuted(cohort: Cohort, orders: tuple[np.ndarray, np.ndarray]) -> Cohort:
    (d, p), new = orders, [np.argsort(order).astype(np.int32) for order in orders]
    return replace(
        cohort,
        diagnoses=Ragged(cohort.diagnoses.offsets, new[0][cohort.diagnoses.values]),
        procedures=Ragged(cohort.procedures.offsets, new[1][cohort.procedures.values]),
        diagnosis_vocabulary=Vocabulary(cohort.diagnosis_vocabulary[i] for i in d),
        procedure_vocabulary=Vocabulary(cohort.procedure_vocabulary[i] for i in p),
    )


def f1(method: Recommender, cohort: Cohort) -> dict[int, float]:
    method.fit(cohort, ROWS, np.arange(800, 900))
    stays = cohort.subset(np.arange(900, 1000))
    return evaluate(method.scores, stays.diagnoses, stays.procedures).mean("f1")


METHODS = {
    "popularity": Popularity,
    "cooccurrence": Cooccurrence,
    "linear": Linear,
    "word2vec": lambda: Word2Vec(Word2VecConfig(dim=16, epochs=5, lr=0.01)),
    "gwl": lambda: Gwl(GwlConfig(rounds=2, epochs=20, lr=0.01, dim=50)),
}


@pytest.mark.parametrize("name", METHODS)
def test_permuting_the_codes_changes_no_metric(
    cohort: Cohort, permuted: Cohort, orders: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = f1(METHODS[name](), cohort)
    first = word2vec.initial

    def moved(*args: Any) -> tuple[torch.Tensor, torch.Tensor]:
        U, V = first(*args)
        return U[orders[0]], V[orders[1]]

    for module in (word2vec, gwl):
        monkeypatch.setattr(module, "initial", moved)
    assert f1(METHODS[name](), permuted) == pytest.approx(expected, abs=1e-9)
