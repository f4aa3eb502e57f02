"""Transport whose marginals may give way: POT's unbalanced solvers as oracle, closed forms, and training with it."""

from __future__ import annotations

import copy
import math

import numpy as np
import ot
import pytest
from numpy.typing import NDArray

from dx2px.errors import InputError
from dx2px.methods.paper.network import PaperConfig
from dx2px.methods.paper.step import PaperStep
from dx2px.methods.paper.transport import TransportConfig, TransportResult, solve

Doubles = NDArray[np.float64]
Problem = tuple[Doubles, Doubles, Doubles]

PENALTIES = [(0.0, None), (0.1, None), (2.0, None), (None, 0.5), (1.0, 1.0), (0.3, 0.05), (0.5, 0.0)]


def problem(n: int, m: int, seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    return rng.random((n, m)) * 1.6, rng.dirichlet(np.ones(n)), np.full(m, 1 / m)


def solved(one: Problem, config: TransportConfig, dtype: type = np.float64) -> TransportResult:
    C, mu, nu = (x.astype(dtype) for x in one)
    return solve(C.ravel(), mu, nu, np.array([len(mu)]), np.array([len(nu)]), config)


def finite(rho: float | None) -> float:
    return math.inf if rho is None else rho


def objective(T: Doubles, one: Problem, config: TransportConfig) -> float:
    """The penalised objective as it reads; exact marginals are left to the reader."""
    C, mu, nu = one
    value = (C * T).sum() + config.entropy * kl(T, np.outer(mu, nu))
    for total, aim, rho in zip((T.sum(1), T.sum(0)), (mu, nu), config.penalties, strict=True):
        value += rho * kl(total, aim) if math.isfinite(rho) else 0.0
    return float(value)


def kl(x: Doubles, y: Doubles) -> float:
    return float((x * np.log(np.maximum(x, 1e-300) / y) - x + y).sum())


@pytest.mark.parametrize(("rho_d", "rho_p"), PENALTIES)
def test_the_plan_is_pots(rho_d: float | None, rho_p: float | None) -> None:
    for size in [(9, 5), (1, 4), (6, 1), (41, 40)]:
        one = problem(*size)
        settings = {"diagnosis_penalty": rho_d, "procedure_penalty": rho_p}
        expected = ot.unbalanced.sinkhorn_unbalanced(
            *(one[1], one[2], one[0]), 0.05, (finite(rho_d), finite(rho_p)), numItermax=20_000, stopThr=1e-14
        )
        exact = solved(one, TransportConfig(**settings, fixed_steps=3000))
        np.testing.assert_allclose(exact[0], expected, rtol=0, atol=1e-9)
        stopped = solved(one, TransportConfig(**settings))
        assert stopped.converged.all()
        assert np.abs(stopped[0] - expected).sum() <= math.sqrt(2 * 1e-3)  # what the stopping rule proves


def test_procedures_alone_choose_by_a_softmax_down_their_column() -> None:
    C, mu, nu = one = problem(7, 4)
    powers = mu[:, None] * np.exp(-C / 0.05)
    result = solved(one, TransportConfig.semi_relaxed(0.05))
    np.testing.assert_allclose(result[0], nu * powers / powers.sum(0), rtol=1e-12)
    assert result.iterations.tolist() == [1]
    assert result.gap[0] == pytest.approx(0, abs=1e-12)


def test_a_high_price_gives_back_the_entropic_balanced_plan() -> None:
    C, mu, nu = one = problem(8, 5)
    balanced = ot.sinkhorn(mu, nu, C, 0.05, stopThr=1e-14, numItermax=50_000)
    dear = solved(one, TransportConfig(diagnosis_penalty=1e6, fixed_steps=20_000))
    np.testing.assert_allclose(dear[0], balanced, atol=1e-6)


def test_a_lower_price_lets_the_marginal_go_further() -> None:
    one = problem(8, 5)
    far = [
        np.abs(solved(one, TransportConfig(diagnosis_penalty=rho, fixed_steps=500))[0].sum(1) - one[1]).sum()
        for rho in (10.0, 1.0, 0.1, 0.0)
    ]
    assert far == sorted(far)
    assert far[0] < 0.05 < far[-1]


@pytest.mark.parametrize(("rho_d", "rho_p"), PENALTIES)
def test_the_gap_is_a_proof(rho_d: float | None, rho_p: float | None) -> None:
    """Cut off early, the objective lies above the optimum by no more than the gap says."""
    for seed in range(10):
        one = problem(8, 5, seed)
        early, late = (
            TransportConfig(diagnosis_penalty=rho_d, procedure_penalty=rho_p, fixed_steps=steps)
            for steps in (3, 3000)
        )
        rough = solved(one, early)
        optimum = objective(solved(one, late)[0], one, late)
        missed = rough.marginal_error[0] * 2  # an exact marginal that is not met yet may make it cheaper
        assert objective(rough[0], one, early) - optimum <= rough.gap[0] + missed + 1e-9


def test_single_precision_and_vanishing_kernels() -> None:
    """Costs that differ by hundreds of ε leave a plan: each procedure takes its nearest diagnosis."""
    C, mu, nu = problem(9, 6)
    config = TransportConfig(diagnosis_penalty=0.0, entropy=1e-3)
    result = solved((C + 1, mu, nu), config, np.float32)
    assert np.isfinite(result.plan).all()
    np.testing.assert_allclose(result[0].sum(0), nu, rtol=1e-5)
    assert (result[0].argmax(0) == C.argmin(0)).all()


def test_diagnoses_of_no_weight_take_nothing() -> None:
    C, _, nu = problem(4, 3)
    mu = np.array([0.5, 0.0, 0.5, 0.0])
    for rho in (0.0, 0.3):
        result = solved((C, mu, nu), TransportConfig(diagnosis_penalty=rho))
        assert (result[0][[1, 3]] == 0).all()
        assert np.isfinite(result.gap).all()


def test_both_engines_train_alike(batch, make_network) -> None:
    for config in (TransportConfig.semi_relaxed(), TransportConfig(diagnosis_penalty=0.3, entropy=0.1)):
        network = make_network(PaperConfig("e+sa+ma", dim=12, heads=3, alpha=0.7))
        other = copy.deepcopy(network)
        compiled, plain = PaperStep(network, config), PaperStep(other, config, engine="torch")
        for _ in range(3):
            a, b = compiled.step(batch), plain.step(batch)
            assert a.measures == pytest.approx(dict(b.measures), rel=1e-9)
            assert a.measures["unconverged"] == 0
        np.testing.assert_allclose(network.U.detach(), other.U.detach(), atol=1e-9)


def test_the_default_is_the_papers_balanced_plan() -> None:
    C, mu, nu = one = problem(8, 5)
    assert not TransportConfig().penalised
    result = solved(one, TransportConfig())
    np.testing.assert_allclose(result[0].sum(1), mu, atol=1e-3)
    assert result.cost[0] == pytest.approx(ot.emd2(mu, nu, C), rel=0.01)


def test_bad_penalties_are_named() -> None:
    with pytest.raises(
        InputError, match=r"entropy must be positive.*diagnosis_penalty must be 0 or more, not -1"
    ):
        TransportConfig(diagnosis_penalty=-1.0, entropy=0.0)
    with pytest.raises(InputError, match="nothing is left of the marginals"):
        TransportConfig(diagnosis_penalty=0.0, procedure_penalty=0.0)
    with pytest.raises(InputError, match="procedure_penalty must be 0 or more, not inf"):
        TransportConfig(procedure_penalty=math.inf)
