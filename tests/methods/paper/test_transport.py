from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import ot
import pytest
import torch
from numpy.typing import NDArray

from dx2px.errors import InputError
from dx2px.methods.negatives import sample_negatives
from dx2px.methods.paper import objective
from dx2px.methods.paper.batch import PaperBatch
from dx2px.methods.paper.network import PaperConfig, PaperNetwork
from dx2px.methods.paper.step import PaperStep
from dx2px.methods.paper.transport import ConvergenceWarning, TransportConfig, TransportResult, solve
from dx2px.ragged import Ragged

FLOAT = NDArray[np.float64]


@dataclass(frozen=True)
class Problems:
    """A batch of problems, laid flat."""

    cost: FLOAT
    mu: FLOAT
    nu: FLOAT
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]

    def solve(self, config: TransportConfig | None = None, dtype=np.float64):
        flat = (x.astype(dtype) for x in (self.cost, self.mu, self.nu))
        return solve(*flat, self.rows, self.columns, config)

    def each(self):
        ends = [np.cumsum(n)[:-1] for n in (self.rows * self.columns, self.rows, self.columns)]
        parts = zip(
            *(np.split(x, e) for x, e in zip((self.cost, self.mu, self.nu), ends, strict=True)), strict=True
        )
        for (C, mu, nu), n in zip(parts, self.rows, strict=True):
            yield C.reshape(n, -1), mu, nu

    def optimum(self) -> FLOAT:
        return np.array([ot.emd2(mu, nu, C) for C, mu, nu in self.each()])


def stays(U: FLOAT, V: FLOAT, count: int, rng: np.random.Generator) -> Problems:
    """Stays of 1–41 × 1–40 codes with cosine costs; diagnoses weigh the same, or unevenly, or one dominates."""
    rows = np.clip(rng.gamma(2.0, 5.0, count).astype(np.int64), 1, 41)
    columns = np.clip(rng.geometric(0.2, count), 1, 40)
    rows[:2], columns[:2] = (41, 1), (40, 1)
    U, V = (X / np.linalg.norm(X, axis=1, keepdims=True) for X in (U, V))
    costs, mus = [], []
    for n, m in zip(rows, columns, strict=True):
        costs.append(1 - U[rng.choice(len(U), n, replace=False)] @ V[rng.choice(len(V), m, replace=False)].T)
        weight = np.exp(rng.choice([0.0, 1.0, 3.0]) * rng.normal(size=n))
        mus.append(weight / weight.sum())
    nu = np.repeat(1 / columns, columns)
    return Problems(np.concatenate([c.ravel() for c in costs]), np.concatenate(mus), nu, rows, columns)


def trained(rng: np.random.Generator) -> tuple[FLOAT, FLOAT]:
    """Embeddings after some training on stays whose procedures follow their diagnoses."""
    groups = rng.integers(0, 8, 400)
    D = [rng.choice(np.flatnonzero((groups == g) | (rng.random(400) < 0.02)), 6) for g in groups]
    P = [np.unique(8 * rng.integers(0, 9, 4) + g) for g in groups]
    diagnoses, procedures = Ragged.from_lists([np.unique(d) for d in D]), Ragged.from_lists(P)
    network = PaperNetwork(400, 80, PaperConfig(dim=50, heads=4)).init(torch.Generator().manual_seed(0))
    stepper = PaperStep(network)
    for step in range(60):
        stepper.step(
            PaperBatch(diagnoses, procedures, negatives=sample_negatives(procedures, 80, seed=0, step=step))
        )
    return tuple(x.detach().double().numpy() for x in (network.U, network.V))


@pytest.fixture(scope="module")
def thousand() -> dict[str, Problems]:
    """One thousand stays: random embeddings of two dimensions, trained ones, ones that nearly agree."""
    rng = np.random.default_rng(11)
    wide, narrow = rng.normal(size=(2, 400, 200)), rng.normal(size=(2, 400, 10))
    close = 1.0 + 0.3 * rng.normal(size=(2, 400, 200))
    return {
        "random, 200 dimensions": stays(*wide, 250, rng),
        "random, 10 dimensions": stays(*narrow, 250, rng),
        "trained": stays(*trained(rng), 250, rng),
        "nearly parallel": stays(*close, 250, rng),
    }


def relative_gap(result: TransportResult, optimum: FLOAT) -> FLOAT:
    return np.abs(result.cost - optimum) / optimum


def test_the_plans_are_nearly_optimal(thousand):
    """Against exact solutions: 0.5 % on average, 3 % for all but one in a hundred, under 1 % unconverged."""
    results = {name: p.solve(dtype=np.float32) for name, p in thousand.items()}
    gaps = {name: relative_gap(results[name], p.optimum()) for name, p in thousand.items()}
    for name, gap in gaps.items():
        assert gap.mean() <= 0.005, (name, results[name].summary)
        assert np.quantile(gap, 0.99) <= 0.03, (name, results[name].summary)
    assert sum(result.unconverged for result in results.values()) < 10


@pytest.mark.parametrize(("steps", "most"), [(20, 5e-3), (50, 1e-3), (200, 1e-4)])
def test_the_algorithm_as_printed_nears_the_optimum(thousand, steps, most):
    """Its β, one sweep a step, no stopping rule: the median error of the cost after so many steps."""
    problems = thousand["random, 10 dimensions"]
    result = problems.solve(TransportConfig(beta=0.5, adaptive=False, fixed_steps=steps))
    assert np.median(relative_gap(result, problems.optimum())) <= most


def test_the_gap_is_a_proof(thousand):
    """No feasible plan is cheaper than cost − gap; ours misses feasibility by the marginal error at most."""
    for problems in thousand.values():
        result, optimum = problems.solve(), problems.optimum()
        assert (result.cost - result.gap <= optimum + 1e-9).all()
        assert (result.marginal_error[result.converged] <= 1e-3).all()


def test_marginals_are_what_the_result_says(thousand):
    problems = thousand["random, 10 dimensions"]
    result = problems.solve()
    for i, (C, mu, nu) in enumerate(problems.each()):
        T = result[i]
        error = np.abs(T.sum(1) - mu).sum() + np.abs(T.sum(0) - nu).sum()
        assert result.marginal_error[i] == pytest.approx(error, abs=1e-12)
        assert result.cost[i] == pytest.approx((C * T).sum(), abs=1e-3 * error + 2 * error + 1e-12)
        np.testing.assert_allclose(T.sum(1), mu, atol=1e-12)


def test_single_precision_walks_the_same_way(thousand):
    fixed = TransportConfig(fixed_steps=40)
    for name, problems in thousand.items():
        double, single = (problems.solve(fixed, dtype) for dtype in (np.float64, np.float32))
        np.testing.assert_allclose(single.plan, double.plan, rtol=0, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("adaptive", [True, False])
def test_the_gap_shrinks_as_steps_grow(thousand, adaptive):
    for problems in thousand.values():
        optimum = problems.optimum()
        means = [
            relative_gap(problems.solve(TransportConfig(fixed_steps=n, adaptive=adaptive)), optimum).mean()
            for n in (2, 10, 50, 250)
        ]
        assert means == sorted(means, reverse=True)
        assert means[-1] < means[0] / (20 if adaptive else 5)


def test_the_literal_iteration(thousand):
    """Algorithm 2 as printed, one sweep a step, is what `adaptive=False` computes."""
    problems = thousand["random, 10 dimensions"]
    result = problems.solve(TransportConfig(fixed_steps=30, adaptive=False))
    for i, (C, mu, nu) in enumerate(problems.each()):
        G, a, T = np.exp(-C / 0.5), np.ones(len(mu)), np.outer(mu, nu)
        for _ in range(30):
            K = G * T
            b = nu / (K.T @ a)
            a = mu / (K @ b)
            T = a[:, None] * K * b
        np.testing.assert_allclose(result[i], T, rtol=1e-9, atol=1e-13)
    assert (result.iterations == 30).all()


def test_marginals_alone_would_stop_too_early(thousand):
    """Why there is a second criterion: on nearly parallel vectors the product plan passes for a solution."""
    problems = thousand["nearly parallel"]
    careless = problems.solve(TransportConfig(gap_tolerance=10.0, adaptive=False))
    assert (careless.iterations == 1).all()
    assert relative_gap(careless, problems.optimum()).mean() > 0.02


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
class TestEdges:
    def test_rows_and_columns_of_no_mass(self, dtype):
        C = np.random.default_rng(0).random((4, 3)).astype(dtype)
        mu, nu = np.array([0.5, 0, 0.5, 0], dtype), np.array([0.3, 0, 0.7], dtype)
        result = solve(C.ravel(), mu, nu, np.array([4]), np.array([3]))
        assert np.isfinite(result.plan).all()
        assert (result[0][[1, 3]] == 0).all()
        assert (result[0][:, 1] == 0).all()
        assert result.converged.all()
        assert result.cost[0] == pytest.approx(
            ot.emd2(mu.astype(float) / mu.sum(), nu / nu.sum(dtype=float), C), 0.01
        )

    def test_a_mass_that_underflows(self, dtype):
        mu = np.array([1.0, 1e-36], dtype)
        result = solve(np.array([0.5, 1.0, 0.2, 0.1], dtype), mu, np.full(2, 0.5, dtype), *SQUARE)
        assert np.isfinite(result.plan).all()
        assert result.converged.all()

    def test_equal_diagnoses_share_equally(self, dtype):
        C = np.array([[0.2, 0.9], [0.2, 0.9], [0.8, 0.1], [0.8, 0.1]], dtype)
        uniform = np.full(4, 0.25, dtype), np.full(2, 0.5, dtype)
        result = solve(C.ravel(), *uniform, np.array([4]), np.array([2]))
        np.testing.assert_allclose(result[0][0], result[0][1], atol=1e-7)
        np.testing.assert_allclose(result[0], [[0.25, 0], [0.25, 0], [0, 0.25], [0, 0.25]], atol=1e-3)

    def test_equal_costs_leave_the_product_plan(self, dtype):
        mu = np.array([0.9, 0.1], dtype)
        result = solve(np.full(4, 0.7, dtype), mu, np.full(2, 0.5, dtype), *SQUARE)
        np.testing.assert_allclose(result[0], np.outer(mu, [0.5, 0.5]), atol=1e-6)
        assert result.iterations.tolist() == [1]
        assert result.cost[0] == pytest.approx(0.7, rel=1e-6)

    def test_costs_of_zero(self, dtype):
        result = solve(np.zeros(4, dtype), np.full(2, 0.5, dtype), np.full(2, 0.5, dtype), *SQUARE)
        assert result.converged.all()
        assert result.cost.tolist() == [0.0]

    def test_one_diagnosis_or_one_procedure_is_done_in_one_step(self, dtype):
        C, mu, nu = np.array([0.3, 0.6, 0.1, 1.9], dtype), np.ones(1, dtype), np.full(4, 0.25, dtype)
        sizes = np.array([1]), np.array([4])
        wide, tall = solve(C, mu, nu, *sizes), solve(C, nu, mu, *sizes[::-1])
        for result in (wide, tall):
            np.testing.assert_allclose(result.plan, 0.25, rtol=1e-6)
            assert result.iterations.tolist() == [1]
            assert result.converged.all()


SQUARE = np.array([2]), np.array([2])


def test_no_problems_is_no_problem():
    empty = np.empty(0)
    result = solve(empty, empty, empty, np.empty(0, np.int64), np.empty(0, np.int64))
    assert (len(result), result.unconverged, result.summary) == (0, 0, "no transport problems")


def test_unconverged_problems_are_reported_and_warned_of(thousand):
    result = thousand["random, 10 dimensions"].solve(TransportConfig(fixed_steps=2))
    assert 0 < result.unconverged < len(result)
    assert result.summary.startswith(f"{result.unconverged} of 250 transport problems unconverged")
    with pytest.warns(ConvergenceWarning, match="unconverged"):
        result.warn_unconverged()


def test_a_converged_batch_warns_of_nothing(thousand):
    result = thousand["random, 200 dimensions"].solve()
    assert result.unconverged == 0
    result.warn_unconverged()  # a warning would be an error here


def test_the_result_is_the_same_alone_and_among_others(thousand):
    problems = thousand["trained"]
    together = problems.solve()
    for i, (C, mu, nu) in enumerate(problems.each()):
        if i % 25 == 0:
            alone = solve(C.ravel(), mu, nu, *(np.array([len(x)]) for x in (mu, nu)))
            np.testing.assert_array_equal(alone[0], together[i])


def test_bad_settings_and_arrays_are_named():
    with pytest.raises(InputError, match=r"beta.*-1.*max_steps.*0"):
        TransportConfig(beta=-1.0, max_steps=0)
    with pytest.raises(InputError, match="cost holds 3 values, must hold 4"):
        solve(np.ones(3), np.ones(2), np.ones(2), *SQUARE)
    with pytest.raises(InputError, match="at least one row"):
        solve(np.ones(0), np.ones(0), np.ones(2), np.array([0]), np.array([2]))


def test_the_objective_solves_the_same_problems(batch, make_network):
    network = make_network(PaperConfig("e+ma", dim=12))
    plans = objective.losses(network, batch).plans
    C = objective.cosine_costs(network.U, network.V, batch).detach().numpy()
    rows, columns = batch.diagnoses.lengths, batch.procedures.lengths
    again = solve(C, np.repeat(1 / rows, rows), np.repeat(1 / columns, columns), rows, columns)
    np.testing.assert_allclose(plans.plan, again.plan, atol=1e-12)
