"""DWL: barycentres against POT, derivatives against differences, the step of the vectors, what it keeps of Word2Vec."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import ot
import pytest
import torch
from scipy import sparse

from dx2px import InputError, ModelError
from dx2px.cohort import Ragged
from dx2px.methods.counts import incidence
from dx2px.methods.dwl import DwlConfig, barycentre
from dx2px.methods.dwl.barycentre import Kernel, barycentres
from dx2px.methods.dwl.dwl import distilled_cost, laplacian_step, spread, summed_plans
from dx2px.scoring.methods import scorer_of


def cost(words: int = 12, seed: int = 0) -> np.ndarray:
    return distilled_cost(np.random.default_rng(seed).standard_normal((words, 5)), 0.5)


def topics(words: int, number: int, seed: int = 0) -> torch.Tensor:
    return torch.softmax(torch.from_numpy(np.random.default_rng(seed).standard_normal((words, number))), 0)


def test_the_distilled_cost_is_the_scaled_distance() -> None:
    X = np.random.default_rng(0).standard_normal((6, 3))
    C = distilled_cost(X, 0.5)
    expected = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.testing.assert_allclose(C, expected / expected.max(), atol=1e-7)
    assert np.array_equal(C, C.T)
    assert C.diagonal().tolist() == [0] * 6


def test_one_documents_barycentre_is_that_of_pot() -> None:
    C, b = cost(), topics(12, 3)
    weights = torch.tensor([[0.2], [0.5], [0.3]], dtype=torch.float64)
    found = barycentres(b, weights, Kernel.of(C, 0.1, least=0), 2000)[:, 0]
    # POT's plain "sinkhorn" starts from an unweighted mean and misses the optimum where weights differ.
    exactly = {"method": "sinkhorn_log", "numItermax": 20_000, "stopThr": 1e-13}
    expected = ot.bregman.barycenter(b.numpy(), C, 0.1, weights[:, 0].numpy(), **exactly)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-8)


def test_a_batch_is_its_documents_one_by_one() -> None:
    C, b = cost(), topics(12, 3)
    weights = torch.softmax(torch.from_numpy(np.random.default_rng(1).standard_normal((3, 4))), 0)
    kernel = Kernel.of(C, 0.1, least=1e-8)
    together = barycentres(b, weights, kernel, 20)
    for i in range(4):
        torch.testing.assert_close(together[:, [i]], barycentres(b, weights[:, [i]], kernel, 20))


def test_two_identical_topics_give_the_topic_blurred_as_one_would_be() -> None:
    C, one = cost(), topics(12, 1)
    kernel = Kernel.of(C, 0.1, least=0)
    weights = torch.tensor([[0.3], [0.7]], dtype=torch.float64)
    two = barycentres(torch.cat([one, one], 1), weights, kernel, 50)
    alone = barycentres(one, torch.ones(1, 1, dtype=torch.float64), kernel, 50)
    torch.testing.assert_close(two, alone)
    H = np.exp(-C / 0.1)
    np.testing.assert_allclose(alone[:, 0], H @ (one[:, 0].numpy() / H.sum(1)), rtol=1e-9)


@pytest.mark.parametrize("dense", [0.0, 2.0])
@pytest.mark.parametrize(("epsilon", "alone"), [(0.002, 40), (0.01, None), (0.2, 0)])
def test_lonely_words_need_no_loop(
    epsilon: float, alone: int | None, dense: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values and derivatives are those of the loop over all words with the same kernel, kept either way."""
    monkeypatch.setattr(barycentre, "_DENSE", dense)
    C, b = cost(40), topics(40, 3)
    weights = torch.softmax(torch.from_numpy(np.random.default_rng(1).standard_normal((3, 2))), 0)
    kernel = Kernel.of(C, epsilon, least=1e-8)
    assert sparse.issparse(kernel.matrix) == (dense > 0 and len(kernel.together) > 0)
    assert len(kernel.alone) == alone or (alone is None and 0 < len(kernel.alone) < 39)
    H = torch.from_numpy(np.where(np.exp(-C / epsilon) > 1e-8, np.exp(-C / epsilon), 0.0))

    def literal(b: torch.Tensor, _: Kernel) -> torch.Tensor:
        v = torch.ones(40, 3, 2, dtype=torch.float64)
        for _ in range(6):
            u = b[:, :, None] / torch.einsum("nm,mki->nki", H, v)
            z = torch.einsum("nm,nki->mki", H, u)
            y = torch.exp((weights * z.log()).sum(1))
            v = y[:, None] / z
        return y

    found = []
    for solve in (lambda b, kernel: barycentres(b, weights, kernel, 6), literal):
        start = b.clone().requires_grad_()
        y = solve(start, kernel)
        (slope,) = torch.autograd.grad((y**2).sum(), start)
        found.append((y.detach(), slope))
    torch.testing.assert_close(found[0], found[1], rtol=1e-8, atol=1e-10)


def test_derivatives_are_those_of_finite_differences() -> None:
    kernel = Kernel.of(cost(8), 0.1, least=1e-8)
    assert len(kernel.together) > 1
    R = torch.from_numpy(np.random.default_rng(2).standard_normal((8, 2))).requires_grad_()
    A = torch.from_numpy(np.random.default_rng(3).standard_normal((2, 3))).requires_grad_()

    def fit(R: torch.Tensor, A: torch.Tensor) -> torch.Tensor:
        return barycentres(torch.softmax(R, 0), torch.softmax(A, 0), kernel, 5).square().sum()

    assert torch.autograd.gradcheck(fit, (R, A))


def test_the_laplacian_step_is_half_the_gradient_of_the_transported_distances() -> None:
    C, b = cost(), topics(12, 2).numpy()
    stays = incidence(Ragged.from_lists([[0, 3, 5], [2, 11], [7]]), 12)
    plans = summed_plans(b, np.array([0, 1, 0]), stays, C)
    X = torch.from_numpy(np.random.default_rng(5).standard_normal((12, 4))).requires_grad_()
    theta = torch.from_numpy(plans.toarray())
    objective = (theta * (X[:, None] - X[None]).square().sum(2)).sum()
    (gradient,) = torch.autograd.grad(objective, X)
    np.testing.assert_allclose(laplacian_step(plans, X.detach().numpy()), gradient.numpy() / 2, atol=1e-12)
    S = (theta + theta.T) / 2
    laplacian = torch.diag(S.sum(1)) - S
    (of_trace,) = torch.autograd.grad(torch.trace(X.T @ laplacian @ X), X)
    np.testing.assert_allclose(laplacian_step(plans, X.detach().numpy()), of_trace.numpy(), atol=1e-12)


def test_plans_carry_the_topic_to_the_stays_codes() -> None:
    C, b = cost(), topics(12, 2).numpy()
    stays = sparse.csr_matrix(np.isin(np.arange(12), [1, 4])[None].astype(float))
    plans = summed_plans(b, np.array([0]), stays, C).toarray()
    np.testing.assert_allclose(plans.sum(1), b[:, 0], atol=1e-12)
    np.testing.assert_allclose(plans.sum(0), stays.toarray()[0] / 2, atol=1e-12)
    assert float((plans * C).sum()) == pytest.approx(
        ot.emd2(b[:, 0].copy(), np.full(2, 0.5), np.ascontiguousarray(C[:, [1, 4]]))
    )


def test_word2vecs_vectors_draw_together_a_little(fitted: Callable[..., Any]) -> None:
    kept = fitted("dwl").settings()["spread_kept"]
    assert 0.9 < kept < 1.0
    assert spread(np.array([[0.0, 1.0], [0.0, -1.0]])) == 1.0


def test_the_rule_of_scoring_is_a_setting(fitted: Callable[..., Any]) -> None:
    arrays = fitted("dwl").arrays()
    stay = Ragged.from_lists([[3]])
    apart = arrays["V"] - arrays["U"][3]
    by_product = scorer_of("dwl", arrays, {"rule": "inner product"}).scores(stay)[0]
    by_distance = scorer_of("dwl", arrays, {"rule": "euclidean"}).scores(stay)[0]
    assert np.allclose(by_product, arrays["V"] @ arrays["U"][3], atol=1e-5)
    assert np.allclose(by_distance, -np.linalg.norm(apart, axis=1), atol=1e-5)
    assert np.array_equal(by_distance, scorer_of("dwl", arrays, {}).scores(stay)[0])  # models of before
    with pytest.raises(ModelError, match="no rule of scoring 'taxicab'"):
        scorer_of("dwl", arrays, {"rule": "taxicab"})
    with pytest.raises(InputError, match="rules of scoring are inner product, cosine, euclidean"):
        DwlConfig(rule="taxicab")


def test_epochs_instead_of_updates_are_whole_passes() -> None:
    assert DwlConfig().updates_for(1_000) == 110
    assert DwlConfig(epochs=5).updates_for(1_000) == 5 * 4  # batches of 256
