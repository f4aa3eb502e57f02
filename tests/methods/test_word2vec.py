"""Word2Vec: count matrices against a loop over pairs, derivatives against autograd, the ideal of its objective."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from dx2px.methods.counts import Counts
from dx2px.methods.initial import InitConfig, initial
from dx2px.methods.word2vec import (
    Word2Vec,
    Word2VecConfig,
    derivative,
    expected_noise,
    noise,
    pair_counts,
    pair_loss,
)
from dx2px.training.batch import Batch
from dx2px.training.batches import Batches


@pytest.fixture
def batch(planted: Any) -> Batch:
    return next(Batches(planted.cohort, planted.training, 30, 0).epoch(0))


def sigmoid(x: float) -> float:
    return float(1 / (1 + np.exp(-x)))


def test_the_count_matrix_loss_is_that_of_a_loop_over_pairs_with_drawn_noise(batch: Batch) -> None:
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((13, 13))
    codes, W = pair_counts(batch, 13)
    slot = {int(code): row for row, code in enumerate(codes)}
    N, expected = np.zeros(W.shape), 0.0
    for i in range(len(batch)):
        for d in batch.diagnoses[i]:
            for p in batch.procedures[i]:
                expected -= np.log(sigmoid(Z[d, p]))
                for q in rng.integers(0, 13, 5):
                    expected -= np.log(sigmoid(-Z[d, q]))
                    N[slot[int(d)], q] += 1
    found = pair_loss(torch.from_numpy(Z[codes.numpy()]), W.double(), torch.from_numpy(N))
    assert float(found) == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(N.sum(1), 5 * W.sum(1).numpy())


def test_expected_noise_is_the_mean_of_many_draws(batch: Batch) -> None:
    rng = np.random.default_rng(0)
    pi = noise(np.array([8, 1, 0, 27], np.float32), 0.75)
    W = torch.tensor([[2.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    drawn = np.mean([rng.multinomial([15, 5], pi.double().numpy()) for _ in range(20_000)], axis=0)
    np.testing.assert_allclose(expected_noise(W, pi, 5).numpy(), drawn, atol=0.05)
    assert pi[2] == 0
    assert float(pi[3] / pi[1]) == pytest.approx(27**0.75)
    assert noise(np.array([8, 1, 0, 27], np.float32), 0.0).tolist() == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3])


def test_the_derivative_is_that_of_autograd(batch: Batch) -> None:
    _, W = pair_counts(batch, 13)
    N = expected_noise(W, torch.full((13,), 1 / 13), 5)
    Z = torch.randn(W.shape, generator=torch.Generator().manual_seed(0)).requires_grad_()
    (expected,) = torch.autograd.grad(pair_loss(Z, W, N), Z)
    torch.testing.assert_close(derivative(Z.detach(), W, N), expected)


@pytest.mark.parametrize("power", [0.75, 0.0])
def test_inner_products_come_near_the_ideal_of_the_counts(planted: Any, power: float) -> None:
    """At the optimum u_d·v_p = log w_dp − log Σ_q w_dq − log π_p − log k."""
    config = Word2VecConfig(noise_power=power, dim=32, lr=0.02, epochs=150, batch_size=300)
    arrays = planted.fit(Word2Vec(config)).arrays()
    w = Counts.of(planted.cohort, planted.training).pairs
    pi = noise(arrays["popularity"], power).double().numpy()
    often = w > 2
    with np.errstate(divide="ignore"):
        ideal = np.log(w) - np.log(np.maximum(w.sum(1, keepdims=True), 1)) - np.log(pi) - np.log(5)
    found = arrays["U"] @ arrays["V"].T
    assert np.corrcoef(found[often], ideal[often])[0, 1] > 0.98
    assert np.abs(found[often] - ideal[often]).mean() < 0.25


def test_codes_that_training_lacks_keep_their_first_vector(
    planted: Any, fitted: Callable[..., Any], quick: Any
) -> None:
    learned = fitted("word2vec").arrays()["U"]
    start, _ = initial((len(learned), 1), 16, InitConfig(), seed=0)
    assert np.array_equal(learned[planted.stranger], start[planted.stranger].numpy())
