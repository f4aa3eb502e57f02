"""Levels of procedures beside coded ones, fitted to stays whose rule is known."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import synthetic_models
from dx2px.cohort import Cohort
from dx2px.methods.coupling import CouplingConfig, CouplingModel, CouplingTraining, beside
from dx2px.methods.coupling.adapted import AdaptedModel
from dx2px.methods.coupling.warm_start import Base
from dx2px.methods.coupling.withholding import Withholding
from dx2px.scoring.beside import Beside, CodedLevels
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.folder import ModelFiles, read_folder
from dx2px.scoring.segments import Floats
from dx2px.training.run import learn
from evidence_model import stays as evidence_stays
from synthetic_models import exclusive_stays

LAYOUT = EvidenceLayout(1, 5)
OPEN, CLOSED, BLOOD, ECHO, SCAN = range(5)


stays = partial(exclusive_stays, others=(ECHO, SCAN))
even_scores = partial(synthetic_models.even_scores, LAYOUT)


def test_what_goes_together_rises_and_what_is_excluded_falls() -> None:
    learned, held_out = (even_scores, stays(3000, 0)), (even_scores, stays(1000, 1))
    levels = beside.fit_levels(LAYOUT, learned, held_out, balance=2.0, half=True)
    assert levels is not None
    heights = np.zeros((5, 5))
    levels.add(heights, (np.arange(5), np.arange(5)))
    assert heights[OPEN].argmax() == BLOOD
    assert heights[BLOOD].argmax() == OPEN
    assert heights[OPEN, CLOSED] < heights[OPEN, ECHO] - 1.5
    assert heights[CLOSED, OPEN] < heights[CLOSED, ECHO] - 1.5
    assert heights[BLOOD, CLOSED] < heights[BLOOD, OPEN] - 3
    for array in levels.arrays.values():
        np.testing.assert_array_equal(array, array.astype(np.float16))


def test_stays_with_one_procedure_say_nothing() -> None:
    single = Cohort.from_lists([["icd9cm:4280"]] * 40, [[f"icd9pcs:100{n % 5}"] for n in range(40)])
    assert beside.fit_levels(LAYOUT, (even_scores, single), (even_scores, stays(40, 0)), balance=2.0) is None
    assert beside.fit_levels(LAYOUT, (even_scores, stays(40, 0)), (even_scores, single), balance=2.0) is None


def test_the_gradient_is_that_of_the_loss() -> None:
    rng = np.random.default_rng(2)
    asked = stays(30, 3)
    asked = asked.subset(np.flatnonzero(asked.procedures.lengths > 1))
    questions = beside._Questions.of(even_scores, LAYOUT, asked, 2.0, rng)
    assert (questions.shown.any(axis=1) & questions.left.any(axis=1)).all()
    weights = {
        name: rng.normal(size=shape).astype(np.float32)
        for name, shape in {"a": (5,), "A": (5, 3), "B": (5, 3)}.items()
    }
    found = beside.gradient(weights, questions, np.arange(len(asked)))

    def loss(name: str, step: Floats) -> float:
        a, A, B = ({**weights, name: weights[name] + step}[one] for one in "aAB")
        return questions.loss(CodedLevels(a, Beside(A, B)))

    for name, slopes in found.items():
        way = rng.normal(size=slopes.shape).astype(np.float32)
        slope = (loss(name, way / 128) - loss(name, -way / 128)) * 64
        assert float((slopes * way).sum()) == pytest.approx(slope, rel=2e-3, abs=2e-3)


def with_levels(folder: Path) -> ModelFiles:
    files, rng = read_folder(folder), np.random.default_rng(0)
    size = len(files.procedures)
    a, A, B = (rng.normal(size=shape).astype(np.float32) for shape in ((size,), (size, 2), (size, 2)))
    return replace(files, arrays={**files.arrays, **CodedLevels(a, Beside(A, B)).arrays})


def test_an_adapted_model_has_those_of_its_base(evidence_folder: Path) -> None:
    base = with_levels(evidence_folder)
    start = Base.of(base, "elsewhere", evidence_stays().subset(range(120)))
    model = learn(start.cohort, AdaptedModel(start, ()), threads=1).recommender
    places = [start.cohort.procedure_vocabulary.index(code) for code in base.procedures]
    for name in ("beside_a", "beside_A", "beside_B"):
        np.testing.assert_array_equal(model.arrays()[name][places], base.arrays[name])


def test_only_a_network_that_has_seen_procedures_as_coded_has_levels() -> None:
    for model in (
        CouplingConfig(dim=4, evidence="codes"),
        CouplingConfig(dim=4, withheld=Withholding(coded=0)),
    ):
        made = learn(stays(300, 5), CouplingModel(CouplingTraining(epochs=1, model=model)), threads=1)
        assert not any(name.startswith("beside") for name in made.recommender.arrays())
