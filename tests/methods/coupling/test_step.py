"""Steps of the default model: the schedule, the draws, the way down."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dx2px.methods.coupling.network import CouplingConfig, CouplingNetwork
from dx2px.methods.coupling.step import CouplingStep, OneCycle
from dx2px.ragged import Ragged
from dx2px.scoring.coupling import CouplingScorer
from dx2px.training.adam import AdamConfig
from dx2px.training.batch import Batch


def batch(seed: int = 0, stays: int = 60) -> Batch:
    """The procedure follows the first diagnosis; the second says nothing."""
    rng = np.random.default_rng(seed)
    causes = rng.integers(0, 5, stays)
    diagnoses = Ragged.from_lists([[c, int(rng.integers(5, 9))] for c in causes.tolist()])
    procedures = Ragged.from_lists([[c] for c in causes.tolist()])
    return Batch(diagnoses, procedures)


def stepper(steps: int = 60, seed: int = 0, config: CouplingConfig | None = None) -> CouplingStep:
    network = CouplingNetwork(9, 5, config or CouplingConfig(dim=8, dropout=0.4))
    network.init(torch.Generator().manual_seed(0), np.ones(9), np.full(5, 0.2))
    return CouplingStep(network, AdamConfig(lr=0.05), OneCycle(steps), seed)


def test_the_rate_rises_to_its_peak_and_falls_to_nothing() -> None:
    cycle = OneCycle(steps=100)
    rates = np.array([cycle.rate(step) for step in range(101)])
    assert rates[0] == pytest.approx(cycle.start)
    assert rates.argmax() == 20
    assert rates[20] == pytest.approx(1.0)
    assert rates[100] == pytest.approx(cycle.end)
    assert (np.diff(rates[:21]) > 0).all()
    assert (np.diff(rates[20:]) < 0).all()
    assert cycle.rate(60) == pytest.approx((1 + cycle.end) / 2)
    assert OneCycle(steps=1).rate(0) == pytest.approx(cycle.start)


def test_it_learns_which_diagnosis_counts() -> None:
    learner = stepper()
    first = learner.step(batch()).loss
    for step in range(1, 60):
        last = learner.step(batch(step)).loss
    assert last < 0.2 * first
    arrays = {name: array.numpy() for name, array in learner.network.arrays().items()}
    scores = CouplingScorer(arrays).scores(Ragged.from_lists([[c, 7] for c in range(5)]))
    assert scores.argmax(axis=1).tolist() == [0, 1, 2, 3, 4]


def test_a_resumed_stepper_goes_on_as_if_never_stopped() -> None:
    whole, other = stepper(), stepper()
    for step in range(6):
        whole.step(batch(step))
        if step < 3:
            other.step(batch(step))
    heir = stepper()
    heir.network.load_state_dict(other.network.state_dict())
    heir.optimiser.load_state(other.optimiser.state())
    for step in range(3, 6):
        heir.step(batch(step))
    assert torch.equal(heir.optimiser.flat, whole.optimiser.flat)


def test_another_seed_leaves_out_others() -> None:
    losses = {stepper(seed=seed).step(batch()).loss for seed in (0, 0, 1)}
    assert len(losses) == 2


def test_own_parts_shrink_by_rate_and_decay_and_nothing_else_does() -> None:
    free, drawn = (
        stepper(config=CouplingConfig(dim=8, decay=decay, dropout=0.0, diagnosis_dropout=0.0))
        for decay in (0.0, 0.5)
    )
    for one in (free, drawn):
        one.step(batch())
    factor = 1 - 0.5 * 0.05 * OneCycle(60).rate(0)
    for name, there in free.network.named_parameters():
        expected = there * factor if name in ("U", "V") else there
        torch.testing.assert_close(drawn.network.get_parameter(name), expected, rtol=1e-6, atol=0.0)
