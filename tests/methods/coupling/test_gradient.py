"""The compiled engine: the same scores, losses and gradients as torch, whatever the number of threads."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from dx2px.methods.coupling import kernels
from dx2px.methods.coupling.gradient import SHARE, Compiled, can_compile
from dx2px.methods.coupling.network import CouplingConfig, CouplingNetwork
from dx2px.methods.coupling.sampling import Sampling
from dx2px.methods.coupling.step import CouplingStep, OneCycle
from dx2px.ragged import Ragged
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.known import Known
from dx2px.training.adam import AdamConfig
from dx2px.training.batch import Batch

DIAGNOSES, PROCEDURES, STAYS = 60, 21, 2 * SHARE + 10
LAYOUT = EvidenceLayout(DIAGNOSES, PROCEDURES, principal=True, admissions=("elective",))


def lists(codes: int, most: int, rng: np.random.Generator) -> Ragged:
    return Ragged.from_lists([rng.permutation(codes)[: rng.integers(1, most)] for _ in range(STAYS)])


def batch() -> Batch:
    """Stays with evidence; the step's own draws decide which of it, and which procedures, it shows."""
    rng = np.random.default_rng(0)
    facts = np.stack([rng.integers(-2, high, STAYS) for high in (DIAGNOSES, 9, 2, 1)], axis=1)
    known = Known(np.maximum(facts, [-2, -1, -1, -1]).astype(np.int32), Known.nothing(STAYS).coded)
    return Batch(lists(DIAGNOSES, 9, rng), lists(PROCEDURES, 6, rng), known=known)


def network(shared: bool, layout: EvidenceLayout | None, **settings: float) -> CouplingNetwork:
    config = CouplingConfig(dim=24, **({"dropout": 0.4} | settings))  # type: ignore[arg-type]
    categories = (np.arange(DIAGNOSES) // 4, np.arange(PROCEDURES) // 2) if shared else None
    made = CouplingNetwork(DIAGNOSES, PROCEDURES, config, categories, layout)
    made.init(torch.Generator().manual_seed(1), np.ones(len(made.U), np.int64), np.full(PROCEDURES, 0.1))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2))
    return made


def stepper(made: CouplingNetwork, sampling: Sampling | None = None) -> CouplingStep:
    return CouplingStep(copy.deepcopy(made), AdamConfig(), OneCycle(10), seed=3, sampling=sampling)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("layout", [LAYOUT, None])
@pytest.mark.parametrize("sampling", [None, Sampling(np.linspace(0, 0.5, PROCEDURES), 6)])
def test_both_engines_have_one_loss_and_one_gradient(
    shared: bool, layout: EvidenceLayout | None, sampling: Sampling | None
) -> None:
    """With the same draws of dropout, of what is withheld, and of the procedures that are scored."""
    made = network(shared, layout)
    ours, theirs = stepper(made, sampling), stepper(made.double(), sampling)
    assert (ours.engine, theirs.engine) == ("compiled", "torch")
    found = [one.gradient(batch()).loss for one in (ours, theirs)]
    assert found[0] == pytest.approx(found[1], rel=1e-6)
    expected = theirs.optimiser.views(theirs.optimiser.gradient)
    for name, gradient in ours.optimiser.views(ours.optimiser.gradient).items():
        scale = float(expected[name].abs().max())
        torch.testing.assert_close(gradient.double(), expected[name], rtol=1e-5, atol=1e-5 * scale)


def test_the_gradient_is_how_the_loss_changes() -> None:
    """By finite differences along the gradient, with the step's draws held."""
    learner = stepper(network(True, LAYOUT))
    learner.gradient(batch())
    flat, gradient = learner.optimiser.flat, learner.optimiser.gradient.clone()
    start, norm = flat.clone(), gradient.norm()
    losses = []
    for way in (1, -1):
        flat.copy_(start + way * 0.02 * gradient / norm)
        losses.append(learner.gradient(batch()).loss)
    assert (losses[0] - losses[1]) / 0.04 == pytest.approx(float(norm), rel=1e-3)


def test_scores_are_those_of_torch_and_rule_out_what_is_coded() -> None:
    made, stays = network(True, LAYOUT), batch()
    assert stays.known is not None
    rows = LAYOUT.rows(stays.diagnoses, stays.known.with_coded(stays.procedures))
    for seed in (None, 5):
        draws = [None if seed is None else torch.Generator().manual_seed(seed) for _ in range(2)]
        found, expected = Compiled(made).scores(rows, draws[0]), made.plain_scores(rows, draws[1])
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
        assert np.array_equal(np.isneginf(found), stays.procedures.indicator(PROCEDURES))


def test_the_number_of_threads_changes_no_bit() -> None:
    made, before = network(True, LAYOUT), torch.get_num_threads()
    flat = []
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            learner = stepper(made)
            for _ in range(3):
                learner.step(batch())
            flat.append(learner.optimiser.flat)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(flat[0], flat[1])
    assert torch.equal(flat[0], flat[2])


def test_a_loss_that_is_no_number_is_not_hidden() -> None:
    made = network(True, LAYOUT)
    with torch.no_grad():
        made.V[3] = torch.nan
    assert np.isnan(stepper(made).gradient(batch()).loss)


def test_scores_far_apart_have_a_finite_gradient() -> None:
    made = network(True, None)
    with torch.no_grad():
        made.s[0], made.V[:] = 300.0, 40.0
    learner = stepper(made)
    assert np.isfinite(learner.gradient(batch()).loss)
    assert learner.optimiser.gradient.isfinite().all()


def test_variants_are_left_to_torch() -> None:
    class Variant(CouplingNetwork):
        pass

    plain = network(True, None)
    assert can_compile(plain)
    assert not can_compile(Variant(5, 5, CouplingConfig()))
    assert not can_compile(network(True, None, diagnosis_dropout=0.1))
    assert not can_compile(plain.double())


def test_powers_are_those_of_the_library() -> None:
    x = np.concatenate([np.linspace(-86.9, 0, 5001), [-87.5, -1e9, -np.inf]]).astype(np.float32)
    sums = np.empty(len(x), np.float32)
    kernels._powers(x[None].copy(), np.zeros(1, np.float32), np.zeros_like(x), np.empty(0, np.int64), sums)
    np.testing.assert_allclose(sums[:-3], np.exp(x[:-3].astype(np.float64)), rtol=3e-7)
    assert not sums[-3:].any()


@pytest.mark.parametrize("share", [0.1, 0.4, 0.6])
def test_dropout_leaves_out_its_share_of_every_row_and_feature(share: float) -> None:
    keys = np.random.default_rng(0).integers(0, 2**63, 4000).astype(np.uint64)
    mask = np.empty((4000, 200), np.float32)
    kernels.masks(keys, *kernels.dropout(share), mask)
    assert set(np.unique(mask)) == {np.float32(0), np.float32(1 / (1 - share))}
    left_out = mask == 0
    assert left_out.mean() == pytest.approx(share, abs=0.002)
    assert abs(left_out.mean(axis=0) - share).max() < 0.04
    assert abs(left_out.mean(axis=1) - share).max() < 0.2
    neighbours = np.corrcoef(left_out[:, :20].T.astype(float))
    assert abs(neighbours - np.eye(20)).max() < 0.08
