from __future__ import annotations

import numpy as np
import pytest
import torch

from dx2px.methods.paper import objective
from dx2px.methods.paper.batch import PaperBatch
from dx2px.methods.paper.network import PaperConfig
from dx2px.ragged import Ragged

CONFIGS = [
    PaperConfig("e+pooling", dim=12),
    PaperConfig("e+sa", dim=12, heads=3),
    PaperConfig("e+ma", dim=12, alpha=0.7),
    PaperConfig("e+sa+ma", dim=12, heads=3, alpha=0.7),
    PaperConfig("e+ma", dim=12, alpha=0.7, pooling="mean"),
]


@pytest.mark.parametrize(("dtype", "near"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c.variant}-{c.fusion}")
def test_losses_and_gradients_are_the_equations(batch, make_network, equations, config, dtype, near):
    network = make_network(config, dtype)
    found = objective.losses(network, batch)
    expected = equations(network, batch, found.plans)
    for name in ("predictive", "transport", "total"):
        torch.testing.assert_close(getattr(found, name), getattr(expected, name), rtol=near, atol=near)
    parameters = dict(network.named_parameters())
    ours = torch.autograd.grad(found.total, list(parameters.values()))
    theirs = torch.autograd.grad(expected.total, list(parameters.values()))
    for name, x, y in zip(parameters, ours, theirs, strict=True):
        torch.testing.assert_close(
            x, y, rtol=near, atol=near * y.abs().max().item(), msg=f"gradient of {name}"
        )


def test_without_self_attention_diagnoses_weigh_the_same_in_the_transport(batch, make_network):
    plans = objective.losses(make_network(PaperConfig("e+ma", dim=12)), batch).plans
    for i in range(len(batch)):
        n = len(batch.diagnoses[i])
        np.testing.assert_allclose(plans[i].sum(1), np.full(n, 1 / n), rtol=1e-12)


def test_the_plan_is_a_constant_of_the_gradient(batch, make_network):
    """With the plan held fixed, alpha ⟨C, T⟩ moves no attention weight."""
    network = make_network(PaperConfig("e+sa+ma", dim=12, heads=3))
    found = objective.losses(network, batch)
    assert torch.autograd.grad(found.transport, network.A, allow_unused=True) == (None,)


def test_gradients_by_finite_differences(batch, make_network):
    network = make_network(PaperConfig("e+sa+ma", dim=3, heads=2, alpha=0.7))
    rows = [0, 1, 2, 7]
    few = PaperBatch(
        batch.diagnoses.take(rows), batch.procedures.take(rows), negatives=batch.negatives.take(rows)
    )
    plan = torch.from_numpy(objective.losses(network, few).plans.plan)

    def total(*values: torch.Tensor) -> torch.Tensor:
        for parameter, value in zip(network.parameters(), values, strict=True):
            parameter.data = value.data
        f = network.fuse(few.diagnoses, network.significance(few.diagnoses))
        C = objective.cosine_costs(network.U, network.V, few)
        return objective.predictive_loss(f, network.V, few) + 0.7 * (C * plan).sum()

    start = [p.detach().clone() for p in network.parameters()]
    analytic = torch.autograd.grad(total(*start), list(network.parameters()))
    rng = np.random.default_rng(0)
    with torch.no_grad():
        for which, gradient in enumerate(analytic):
            for entry in rng.choice(gradient.numel(), min(12, gradient.numel()), replace=False):
                moved = []
                for step in (1e-6, -1e-6):
                    values = [x.clone() for x in start]
                    values[which].view(-1)[entry] += step
                    moved.append(total(*values))
                slope = (moved[0] - moved[1]) / 2e-6
                assert slope.item() == pytest.approx(gradient.reshape(-1)[entry].item(), rel=1e-5, abs=1e-7)


def test_cosine_costs_by_hand():
    U = torch.tensor([[2.0, 0.0], [0.0, 3.0], [0.0, 0.0]])
    V = torch.tensor([[5.0, 0.0], [-1.0, 0.0]])
    batch = PaperBatch(
        Ragged.from_lists([[0, 1], [2]]),
        Ragged.from_lists([[0, 1], [0]]),
        negatives=Ragged.from_lists([[], []]),
    )
    # same direction 0, opposite 2, at a right angle 1; a zero vector has no direction, so cost 1
    assert objective.cosine_costs(U, V, batch).tolist() == [0.0, 2.0, 1.0, 1.0, 1.0]


def test_losses_stay_finite_for_certain_predictions(make_network):
    network = make_network(PaperConfig("e+pooling", dim=2), torch.float32)
    with torch.no_grad():
        network.U.fill_(100.0)
        network.V.fill_(-100.0)
    batch = PaperBatch(Ragged.from_lists([[0]]), Ragged.from_lists([[1]]), negatives=Ragged.from_lists([[2]]))
    assert objective.losses(network, batch).total.item() == pytest.approx(20_000.0)
