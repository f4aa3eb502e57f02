"""GWL: its coupling against POT and brute force, its graphs by hand, its loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import ot
import pytest
import torch
from scipy import sparse

from dx2px.methods.gwl import gromov
from dx2px.methods.gwl.gromov import CouplingConfig, couple, gradient_term
from dx2px.methods.gwl.gwl import Graphs, GwlConfig, kappa, loss


def problem(s: int = 12, t: int = 7, seed: int = 0) -> tuple[torch.Tensor, ...]:
    rng = np.random.default_rng(seed)

    def distances(n: int) -> np.ndarray:
        points = rng.random((n, 2))
        return np.linalg.norm(points[:, None] - points[None], axis=2)

    mu, nu = (x / x.sum() for x in (rng.random(s) + 0.2, rng.random(t) + 0.2))
    return tuple(torch.from_numpy(x) for x in (distances(s), distances(t), mu, nu, rng.random((s, t))))


def test_the_gradient_term_is_the_sum_over_four_indices() -> None:
    Cs, Ct, mu, nu, _ = problem(5, 4)
    T = couple(
        Cs, Ct, mu, nu, torch.zeros(5, 4, dtype=torch.float64), CouplingConfig(gamma=0.1, steps=500)
    ).plan
    brute = np.zeros((5, 4))
    for i in range(5):
        for j in range(4):
            for k in range(5):
                for m in range(4):
                    brute[i, j] += float((Cs[i, k] - Ct[j, m]) ** 2 * T[k, m])
    mu, nu = T.sum(1), T.sum(0)  # the formula takes the plan's own marginals for μ and ν
    np.testing.assert_allclose(gradient_term(Cs, Ct, mu, nu, T).numpy(), brute, atol=1e-12)


@pytest.mark.parametrize("weight", [0.0, 0.6])
def test_the_cold_loop_is_that_of_pot(weight: float) -> None:
    Cs, Ct, mu, nu, K = problem()
    gamma, steps = 0.05, 15
    config = CouplingConfig(gamma=gamma, steps=steps, tolerance=0.0, warm=False)
    ours = couple(Cs, Ct, mu, nu, weight * K, config).plan.numpy()
    alpha = 1 / (1 + 2 * weight)
    theirs = ot.gromov.entropic_fused_gromov_wasserstein(
        K.numpy(),
        Cs.numpy(),
        Ct.numpy(),
        mu.numpy(),
        nu.numpy(),
        loss_fun="square_loss",
        epsilon=2 * alpha * gamma,
        symmetric=True,
        alpha=alpha,
        max_iter=steps,
        tol=0,
        solver="PPA",
        numItermax=1,
        stopThr=0,
        warn=False,
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_a_warm_start_meets_both_marginals_and_single_precision_agrees() -> None:
    Cs, Ct, mu, nu, K = problem(30, 12)
    config = CouplingConfig(gamma=1.0, steps=2000, tolerance=1e-6)
    found = couple(Cs, Ct, mu, nu, K, config)
    assert found.converged(config)
    assert found.column_error < 1e-3
    torch.testing.assert_close(found.plan.sum(1), mu)
    single = couple(*(x.float() for x in (Cs, Ct, mu, nu, K)), config)
    assert float((single.plan - found.plan).abs().sum()) < 2e-3


@pytest.mark.parametrize("seed", [2, 3])
def test_no_mass_is_lost_where_the_plan_grows_sharp(seed: int) -> None:
    """Distances of counts and the published γ: a plan in single precision ended with errors of 0.31 and 0.20 here."""
    rng = np.random.default_rng(seed)
    D, P = (rng.random((400, codes)) < rng.beta(0.5, 6, codes) for codes in (60, 25))
    graphs = Graphs.of(*(sparse.csr_matrix(X.astype(np.float32)) for X in (D, P)))
    seen_d, seen_p = graphs.mu > 0, graphs.nu > 0
    parts = (graphs.D[seen_d][:, seen_d], graphs.P[seen_p][:, seen_p], graphs.mu[seen_d], graphs.nu[seen_p])
    K = torch.zeros(len(parts[2]), len(parts[3]))
    found = couple(*parts, K, CouplingConfig(steps=2000))
    assert found.column_error < 0.1
    assert found.plan.dtype == torch.float32


def test_taking_off_each_rows_least_cost_changes_nothing() -> None:
    """The loop of the paper, in double precision, as it reads."""
    Cs, Ct, mu, nu, K = problem()
    T, a = torch.outer(mu, nu), mu
    for _ in range(20):
        Q = torch.exp(-(gradient_term(Cs, Ct, mu, nu, T) + K) / 0.05) * T
        b = nu / (Q.T @ a)
        a = mu / (Q @ b)
        T = a[:, None] * Q * b
    found = couple(Cs, Ct, mu, nu, K, CouplingConfig(gamma=0.05, steps=20, tolerance=0.0))
    torch.testing.assert_close(found.plan, T, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_leaving_out_negligible_mass_changes_no_more_than_rounding(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype
) -> None:
    parts = [part.to(dtype) for part in problem(60, 25)]
    config = CouplingConfig(gamma=0.02, steps=40)
    monkeypatch.setattr(gromov, "FEW", 0.0)
    dense = couple(*parts, config)
    monkeypatch.setattr(gromov, "FEW", 1.0)
    few = couple(*parts, config)
    assert float((dense.plan > 1e-9).double().mean()) < 0.5  # sharp enough to leave something out
    rounding = 200 * torch.finfo(dtype).eps
    assert float((dense.plan - few.plan).abs().sum()) < rounding


def test_graphs_by_hand() -> None:
    D = sparse.csr_matrix(np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0]], np.float32))
    P = sparse.csr_matrix(np.array([[1, 0], [1, 1], [0, 1]], np.float32))
    graphs = Graphs.of(D, P)
    np.testing.assert_allclose(graphs.D, [[0, 1 / 3, 1], [1 / 3, 0, 1], [1, 1, 0]])
    np.testing.assert_allclose(graphs.P, [[0, 1 / 2], [1 / 2, 0]])
    np.testing.assert_allclose(graphs.X, [[1 / 3, 1 / 3], [1 / 2, 1 / 2], [1, 1]])
    np.testing.assert_allclose(graphs.mu, [3 / 5, 2 / 5, 0])
    np.testing.assert_allclose(graphs.nu, [1 / 2, 1 / 2])


def test_codes_without_weight_do_no_harm() -> None:
    Cs, Ct, mu, nu, K = problem()
    mu = mu.clone()
    mu[3] = 0
    mu /= mu.sum()
    plan = couple(Cs.float(), Ct.float(), mu.float(), nu.float(), K.float(), CouplingConfig()).plan
    assert plan.isfinite().all()
    assert plan[3].sum() == 0


def test_the_loss_is_the_sum_of_its_parts() -> None:
    rng = np.random.default_rng(0)
    U, V = torch.from_numpy(rng.standard_normal((3, 4))), torch.from_numpy(rng.standard_normal((2, 4)))
    D, P, X = (torch.from_numpy(rng.random(shape)) for shape in ((3, 3), (2, 2), (3, 2)))
    plan = torch.from_numpy(rng.random((3, 2)))
    graphs = Graphs(D, P, X, plan.sum(1), plan.sum(0))

    def k(x: Any, y: Any) -> float:
        return float(1 - np.exp(-10 * (1 - x @ y / (x @ x * (y @ y)) ** 0.5)))

    u, v, expected = U.numpy(), V.numpy(), 0.0
    for A, B, C in ((u, u, D), (v, v, P), (u, v, X)):
        expected += sum(
            10 * (k(A[i], B[j]) - float(C[i, j])) ** 2 for i in range(len(A)) for j in range(len(B))
        )
    expected += 0.3 * sum(k(u[i], v[j]) * float(plan[i, j]) for i in range(3) for j in range(2))
    s, t = torch.arange(3), torch.arange(2)
    assert float(loss(GwlConfig(), graphs, U, V, s, t, 0.3, plan)) == pytest.approx(expected, rel=1e-9)
    assert float(kappa(U, U, 10.0).diagonal().abs().max()) < 1e-12


def test_couplings_that_did_not_settle_are_counted(fitted: Callable[..., Any]) -> None:
    evidence = fitted("gwl").settings()["couplings"]
    assert 0 <= evidence["unconverged"] <= 4
    assert 4 <= evidence["steps"] <= 800
    assert evidence["worst_column_error"] >= 0
