from __future__ import annotations

import copy

import numba
import numpy as np
import pytest
import torch

from dx2px.errors import InputError
from dx2px.methods.negatives import sample_negatives
from dx2px.methods.paper import kernels, objective
from dx2px.methods.paper.batch import PaperBatch
from dx2px.methods.paper.network import PaperConfig, PaperNetwork
from dx2px.methods.paper.step import PaperStep
from dx2px.ragged import Ragged
from dx2px.training.adam import AdamConfig
from dx2px.training.batch import Batch

CONFIGS = [
    PaperConfig("e+pooling", dim=12),
    PaperConfig("e+sa", dim=12, heads=3),
    PaperConfig("e+ma", dim=12, alpha=0.7),
    PaperConfig("e+sa+ma", dim=12, heads=3, alpha=0.7),
    PaperConfig("e+ma", dim=12, alpha=0.7, pooling="mean"),
]
FULL = CONFIGS[3]


def batches(count: int) -> list[PaperBatch]:
    """Random batches over 90 diagnoses and 85 procedures."""
    rng = np.random.default_rng(2)
    made = []
    for step in range(count):
        diagnoses = Ragged.from_lists([rng.choice(90, rng.integers(1, 15), replace=False) for _ in range(20)])
        procedures = Ragged.from_lists([rng.choice(85, rng.integers(1, 6), replace=False) for _ in range(20)])
        made.append(
            PaperBatch(diagnoses, procedures, negatives=sample_negatives(procedures, 85, seed=0, step=step))
        )
    return made


def weights(network: PaperNetwork) -> dict[str, np.ndarray]:
    return {name: p.detach().numpy().copy() for name, p in network.named_parameters()}


@pytest.mark.parametrize(("dtype", "near"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c.variant}-{c.fusion}")
def test_the_compiled_gradient_is_the_equations(batch, make_network, equations, config, dtype, near):
    network = make_network(config, dtype)
    plans = objective.losses(network, batch).plans
    expected = equations(network, batch, plans)
    gradients = torch.autograd.grad(expected.total, list(network.parameters()))
    stepper = PaperStep(network)
    result = stepper.gradient(batch)
    assert result.measures["loss_predictive"] == pytest.approx(expected.predictive.item(), rel=near)
    assert result.measures.get("loss_transport", 0.0) == pytest.approx(expected.transport.item(), rel=near)
    assert result.loss == pytest.approx(expected.total.item(), rel=near)
    for (name, ours), theirs in zip(stepper.gradients.items(), gradients, strict=True):
        scale = theirs.abs().max().item()
        torch.testing.assert_close(ours, theirs, rtol=near, atol=near * scale, msg=f"gradient of {name}")


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c.variant}-{c.fusion}")
def test_both_engines_walk_the_same_path(make_network, config):
    ours = make_network(config)
    theirs = copy.deepcopy(ours)
    compiled, plain = PaperStep(ours), PaperStep(theirs, engine="torch")
    for batch in batches(5):
        a, b = compiled.step(batch), plain.step(batch)
        assert a.measures["loss_predictive"] == pytest.approx(b.measures["loss_predictive"], rel=1e-9)
        assert a.stays == b.stays
        assert a.measures == pytest.approx(dict(b.measures), rel=1e-9)
    for name, value in weights(ours).items():
        np.testing.assert_allclose(value, weights(theirs)[name], rtol=0, atol=1e-10)


@pytest.mark.parametrize("engine", ["compiled", "torch"])
@pytest.mark.parametrize(("dtype", "near"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_the_optimiser_is_adam(make_network, engine, dtype, near):
    network = make_network(FULL, dtype)
    reference = copy.deepcopy(network)
    stepper = PaperStep(network, adam=AdamConfig(lr=0.01), engine=engine)
    adam = torch.optim.Adam(reference.parameters(), lr=0.01)
    for batch in batches(6):
        stepper.step(batch)
        for name, gradient in stepper.gradients.items():
            reference.get_parameter(name).grad = gradient.clone()
        adam.step()
    for name, value in weights(network).items():
        np.testing.assert_allclose(value, weights(reference)[name], rtol=0, atol=near, err_msg=name)


def test_codes_that_left_the_batch_leave_no_gradient_behind(make_network):
    stepper = PaperStep(make_network(FULL))
    first, second = batches(2)
    stepper.gradient(first)
    stepper.gradient(second)
    after = {name: g.clone() for name, g in stepper.gradients.items()}
    fresh = PaperStep(make_network(FULL))
    fresh.gradient(second)
    for name, gradient in fresh.gradients.items():
        assert torch.equal(after[name], gradient), name


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_same_start_gives_the_same_weights(make_network, dtype):
    runs = []
    for _ in range(2):
        network = make_network(FULL, dtype)
        stepper = PaperStep(network)
        for batch in batches(8):
            stepper.step(batch)
        runs.append(weights(network))
    for name, value in runs[0].items():
        np.testing.assert_array_equal(value, runs[1][name], err_msg=name)


def test_the_number_of_workers_does_not_change_the_ragged_parts(make_network):
    """Without attention there is no matrix product whose sums a library may split by thread."""
    runs, threads = [], numba.get_num_threads()
    try:
        for count in {1, threads}:
            numba.set_num_threads(count)
            network = make_network(PaperConfig("e+ma", dim=12), torch.float32)
            stepper = PaperStep(network)
            for batch in batches(3):
                stepper.step(batch)
            runs.append(weights(network))
    finally:
        numba.set_num_threads(threads)
    for name, value in runs[0].items():
        np.testing.assert_array_equal(value, runs[-1][name], err_msg=name)


@pytest.mark.parametrize("engine", ["compiled", "torch"])
def test_interrupted_and_resumed_is_as_uninterrupted(make_network, engine):
    whole = make_network(FULL, torch.float32)
    stepper = PaperStep(whole, engine=engine)
    half = batches(6)
    for batch in half[:3]:
        stepper.step(batch)
    saved, state = weights(whole), stepper.optimiser.state()
    for batch in half[3:]:
        stepper.step(batch)

    other = PaperNetwork(90, 85, FULL)
    other.load_state_dict({name: torch.from_numpy(value) for name, value in saved.items()})
    resumed = PaperStep(other, engine=engine)
    resumed.optimiser.load_state(state)
    for batch in half[3:]:
        resumed.step(batch)
    assert resumed.optimiser.steps == stepper.optimiser.steps == 6
    for name, value in weights(whole).items():
        np.testing.assert_array_equal(value, weights(other)[name], err_msg=name)


def test_one_engine_takes_up_the_others_state(make_network):
    network = make_network(FULL)
    stepper = PaperStep(network)
    first, second = batches(2)
    stepper.step(first)
    other = copy.deepcopy(network)
    heir = PaperStep(other, engine="torch")
    heir.optimiser.load_state(stepper.optimiser.state())
    stepper.step(second)
    heir.step(second)
    np.testing.assert_allclose(network.A.detach().numpy(), other.A.detach().numpy(), atol=1e-12)


def test_a_state_of_another_shape_is_refused_by_name(make_network):
    stepper = PaperStep(make_network(FULL))
    state = stepper.optimiser.state()
    state["m.U"] = state["m.U"][:3]
    del state["v.b"]
    with pytest.raises(InputError, match=r"m\.U, v\.b"):
        stepper.optimiser.load_state(state)


def test_codes_outside_the_vocabulary_are_refused(make_network):
    stepper = PaperStep(make_network(FULL))

    def step(diagnosis: int, negative: int) -> None:
        D, P, N = (Ragged.from_lists([[code]]) for code in (diagnosis, 2, negative))
        stepper.step(PaperBatch(D, P, negatives=N))

    with pytest.raises(InputError, match="negatives hold a code outside 0…84"):
        step(1, 85)
    with pytest.raises(InputError, match="diagnoses hold a code"):
        step(-1, 5)


def test_a_stay_without_negatives_still_learns(make_network):
    network = make_network(FULL)
    batch = PaperBatch(
        Ragged.from_lists([[1, 2]]), Ragged.from_lists([[3]]), negatives=Ragged.from_lists([[]])
    )
    expected = objective.losses(network, batch)
    gradient = torch.autograd.grad(expected.total, network.V)[0]
    stepper = PaperStep(network)
    assert stepper.gradient(batch).measures["loss_predictive"] == pytest.approx(expected.predictive.item())
    torch.testing.assert_close(stepper.gradients["V"], gradient)


def test_losses_fall(make_network):
    stepper = PaperStep(make_network(FULL, torch.float32), adam=AdamConfig(lr=0.01))
    (batch,) = batches(1)
    losses = [stepper.step(batch).measures["loss_predictive"] for _ in range(40)]
    assert losses[-1] < 0.5 * losses[0]


def test_unconverged_plans_are_counted(make_network):
    from dx2px.methods.paper.transport import TransportConfig

    stepper = PaperStep(make_network(FULL), TransportConfig(fixed_steps=1))
    result = stepper.step(batches(1)[0])
    assert 0 < result.measures["unconverged"] < result.stays
    assert result.measures["transport_steps"] == result.stays


def test_negatives_are_drawn_for_a_batch_that_brings_none(make_network):
    """As many as the stay has procedures, by seed and step: another step of the same stays learns from others."""
    (batch,) = batches(1)
    bare = [Batch(batch.diagnoses, batch.procedures, step) for step in (4, 4, 5)]
    losses = [PaperStep(make_network(FULL), seed=9).gradient(one).loss for one in bare]
    negatives = sample_negatives(batch.procedures, 85, seed=9, step=4)
    drawn = PaperBatch(batch.diagnoses, batch.procedures, negatives=negatives)
    assert losses[0] == losses[1] == PaperStep(make_network(FULL)).gradient(drawn).loss
    assert losses[2] != losses[0]


def test_the_single_precision_tangent_is_accurate_everywhere():
    x = np.concatenate([np.linspace(-12, 12, 20_001), np.logspace(-20, -1, 200), [0.0, 1e30, -1e30]])
    H = x.astype(np.float32).reshape(1, 1, -1).copy()
    exact = np.tanh(H.astype(np.float64))
    kernels.activate(H, np.ones((1, H.size), np.float32), np.empty((1, 1), np.float32), 1)
    np.testing.assert_allclose(H, exact, rtol=1e-6, atol=0)


def test_the_tangent_passes_a_nan_on():
    H = np.full((1, 1, 1), np.nan, np.float32)
    kernels.activate(H, np.ones((1, 1), np.float32), np.empty((1, 1), np.float32), 1)
    assert np.isnan(H).all()
