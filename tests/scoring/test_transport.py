"""Transport of one stay: the compiled solver gives the same, and exact optima lie close below."""

from __future__ import annotations

import numpy as np
import ot
import pytest
from numpy.typing import NDArray

from dx2px.methods.paper import kernels
from dx2px.methods.paper.transport import TransportConfig
from dx2px.methods.paper.transport import solve as solve_compiled
from dx2px.scoring import transport
from dx2px.scoring.transport import Penalties, cosine_costs, solve

Doubles = NDArray[np.float64]


def problem(n: int, m: int, seed: int) -> tuple[Doubles, Doubles, Doubles]:
    """Every other problem has vectors that point nearly the same way, as early in training."""
    rng = np.random.default_rng(seed)
    U, V = ((rng.standard_normal((k, 8)) + 4 * (seed % 2)).astype(np.float32) for k in (n, m))
    return cosine_costs(U, V), rng.dirichlet(np.full(n, rng.choice([0.2, 1, 20]))), np.full(m, 1 / m)


SIZES = [(1, 1), (1, 5), (6, 1), (2, 2), (10, 5), (41, 10), (15, 40)]


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_the_compiled_solver_takes_the_same_steps(n: int, m: int) -> None:
    for seed in range(5):
        C, mu, nu = problem(n, m, seed)
        other = solve_compiled(C.ravel(), mu, nu, np.array([n]), np.array([m]), TransportConfig())
        found = solve(C, mu, nu)
        assert (found.iterations, found.converged) == (other.iterations[0], other.converged[0])
        np.testing.assert_allclose(found.plan, other[0], atol=1e-9)
        assert found.cost == pytest.approx(other.cost[0])
        assert found.gap == pytest.approx(other.gap[0], abs=1e-9)


def test_settings_are_the_compiled_solvers() -> None:
    config = TransportConfig()
    assert config.beta == transport.BETA
    assert (config.tolerance, config.gap_tolerance) == (transport.TOLERANCE, transport.GAP_TOLERANCE)
    assert config.max_steps == transport.MAX_STEPS
    for name in ("CHECK_EVERY", "GAP_FLOOR", "ROUNDING", "TINY"):
        assert getattr(transport, name) == getattr(kernels, name)


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_marginals_hold_and_the_cost_is_close_to_the_optimum(n: int, m: int) -> None:
    for seed in range(5):
        C, mu, nu = problem(n, m, seed)
        found = solve(C, mu, nu)
        assert found.converged
        assert np.abs(found.plan.sum(1) - mu).sum() + np.abs(found.plan.sum(0) - nu).sum() <= 1.0001e-3
        optimum = ot.emd2(mu, nu, C)
        assert found.cost == pytest.approx(optimum, rel=0.012, abs=2e-3)
        np.testing.assert_allclose(found.shares.sum(axis=0), 1)


def test_mass_flows_where_it_costs_least() -> None:
    C = np.array([[0.0, 1.0], [1.0, 0.0]])
    found = solve(C, np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    np.testing.assert_allclose(found.plan, np.eye(2) / 2, atol=1e-3)
    assert found.cost < 5e-3


def test_diagnoses_without_mass_and_equal_rows_do_no_harm() -> None:
    C = np.array([[0.2, 1.0], [0.2, 1.0], [1.5, 0.1]])
    found = solve(C, np.array([0.0, 0.6, 0.4]), np.array([0.5, 0.5]))
    assert np.isfinite(found.plan).all()
    assert found.converged
    assert found.plan[0].tolist() == [0, 0]
    empty = solve(C, np.array([0.3, 0.3, 0.4]), np.array([1.0, 0.0]))
    np.testing.assert_allclose(empty.shares[:, 1], 1 / 3)


def test_a_zero_vector_is_at_right_angles_to_all() -> None:
    costs = cosine_costs(np.zeros((1, 3), np.float32), np.ones((2, 3), np.float32))
    assert costs.tolist() == [[1.0, 1.0]]


def test_what_did_not_converge_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MAX_STEPS", 2)
    C, mu, nu = problem(10, 5, 0)
    found = solve(C, mu, nu)
    assert (found.iterations, found.converged) == (2, False)
    assert found.gap > 0


@pytest.mark.parametrize(("n", "m"), SIZES)
@pytest.mark.parametrize("rhos", [(0.0, None), (0.2, None), (1.0, 0.5), (None, 0.5)])
def test_penalised_plans_are_the_compiled_solvers(
    n: int, m: int, rhos: tuple[float | None, float | None]
) -> None:
    config = TransportConfig(diagnosis_penalty=rhos[0], procedure_penalty=rhos[1], entropy=0.1)
    for seed in range(3):
        C, mu, nu = problem(n, m, seed)
        other = solve_compiled(C.ravel(), mu, nu, np.array([n]), np.array([m]), config)
        found = solve(C, mu, nu, Penalties(*config.penalties, entropy=0.1))
        assert (found.iterations, found.converged) == (other.iterations[0], other.converged[0])
        np.testing.assert_allclose(found.plan, other[0], atol=1e-9)
        assert found.cost == pytest.approx(other.cost[0])
        assert found.gap == pytest.approx(other.gap[0], abs=1e-9)


@pytest.mark.parametrize("rhos", [(None, None), (0.0, None), (0.3, None), (1.0, 0.5), (None, 0.5)])
def test_codes_without_mass_change_neither_solver(rhos: tuple[float | None, float | None]) -> None:
    """A diagnosis of no significance, however near, is as good as absent."""
    C, mu, nu = problem(6, 4, 0)
    config = TransportConfig(diagnosis_penalty=rhos[0], procedure_penalty=rhos[1], entropy=0.1)
    penalties = Penalties(*config.penalties, entropy=0.1) if config.penalised else None
    wider = np.insert(C, 2, C.min(), axis=0)
    found = solve(wider, np.insert(mu, 2, 0.0), nu, penalties)
    other = solve_compiled(wider.ravel(), np.insert(mu, 2, 0.0), nu, np.array([7]), np.array([4]), config)
    assert found.converged
    assert other.converged.all()
    without = solve(C, mu, nu, penalties)
    assert (found.plan[2] == 0).all()
    np.testing.assert_allclose(np.delete(found.plan, 2, axis=0), without.plan, atol=1e-12)
    np.testing.assert_allclose(found.plan, other[0], atol=1e-9)
    assert other.gap[0] == pytest.approx(found.gap, abs=1e-9)


def test_by_default_every_procedure_chooses_alone() -> None:
    C, mu, nu = problem(6, 4, 0)
    found = solve(C, mu, nu, Penalties())
    alone = [solve(C[:, [p]], mu, np.ones(1), Penalties()).plan[:, 0] for p in range(4)]
    np.testing.assert_allclose(found.shares, np.array(alone).T, rtol=1e-12)
