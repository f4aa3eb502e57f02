"""A batch cut among processes: the same draws, and gradients that add up to the whole one's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from dx2px import Cohort
from dx2px.cohort.synthetic import SyntheticConfig, generate
from dx2px.model.batch import Batch
from dx2px.model.network import ModelConfig
from dx2px.training.batches import Batches, Cut
from dx2px.training.config import CouplingTraining, LoopConfig, TrainingConfig
from dx2px.training.launch import launched
from dx2px.training.loop import Trainer
from dx2px.training.processes import joined

VARIANTS: tuple[Any, ...] = ("e+pooling", "e+sa", "e+ma", "e+sa+ma")
CONFIGS = [
    *(TrainingConfig(model=ModelConfig(variant=v, dim=16, heads=3), batch_size=70) for v in VARIANTS),
    CouplingTraining(batch_size=70),
]


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    return generate(SyntheticConfig(stays=400))[0]


def cuts(batches: Batches, of: int, start: int = 2) -> list[Batch]:
    return [next(batches.epoch(1, start, Cut(number, of))) for number in range(of)]


@pytest.mark.parametrize("of", [2, 3, 7, 71])
def test_cuts_are_the_batch_in_pieces_negatives_and_all(cohort: Cohort, of: int) -> None:
    batches = Batches(cohort, np.arange(400), 70, seed=5)
    whole, pieces = next(batches.epoch(1, 2)), cuts(batches, of)
    assert sum(map(len, pieces)) == len(whole) == 70
    assert max(map(len, pieces)) - min(map(len, pieces)) <= 1
    for name in ("diagnoses", "procedures", "negatives"):
        values = np.concatenate([getattr(piece, name).values for piece in pieces])
        assert np.array_equal(values, getattr(whole, name).values)
    for piece in pieces:
        assert piece.share is not None
        assert np.array_equal(piece.share.lengths, whole.diagnoses.lengths)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.method)
@pytest.mark.parametrize("of", [2, 5])
def test_gradients_of_the_cuts_add_up_to_that_of_the_batch(
    cohort: Cohort, config: LoopConfig, of: int
) -> None:
    """With dropout: what is left out must not depend on how the batch is cut."""
    learner = Trainer(cohort, np.arange(400), config).learner
    batches = Batches(cohort, np.arange(400), 70, seed=5)
    loss = learner.gradient(next(batches.epoch(1, 2))).loss_predictive
    whole = learner.optimiser.gradient.clone()
    total, losses = torch.zeros_like(whole), 0.0
    for piece in cuts(batches, of):
        learner.optimiser.gradient.zero_()
        losses += learner.gradient(piece).loss_predictive
        total += learner.optimiser.gradient
    assert losses == pytest.approx(loss, rel=1e-5)
    torch.testing.assert_close(total, whole, rtol=1e-4, atol=1e-5 * float(whole.abs().max()))


def test_without_torchrun_a_process_is_alone() -> None:
    assert launched() is None
    with joined() as processes:
        assert processes.first
        assert processes.alone
        assert processes.of_first(3.5) == 3.5
        assert processes.any(True)


def test_under_torchrun_cores_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT")
    for name, value in zip(names, (5, 8, 1, 4, 2), strict=True):
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "some run")
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(9)))
    launch = launched()
    assert launch is not None
    assert (launch.rank, launch.size, launch.restarts, launch.threads) == (5, 8, 2, 2)
