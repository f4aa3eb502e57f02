"""Logistic regressions solved together, against scikit-learn's, one at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from dx2px.cohort import Cohort
from dx2px.lab.synthetic import SyntheticConfig, generate
from dx2px.methods.counts import incidences
from dx2px.methods.linear.logistic import Regressions, SolverConfig, solve
from dx2px.training.recommender import Recommender


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    return generate(SyntheticConfig(stays=1200, diagnoses=60, procedures=20, rarest_diagnosis=0.02))[0]


@pytest.mark.parametrize("ridge", [10.0, 0.5])
def test_each_column_is_the_regression_of_scikit_learn(cohort: Cohort, ridge: float) -> None:
    X, Y = incidences(cohort, np.arange(len(cohort)))
    exact = SolverConfig(tolerance=1e-7, iterations=500)
    found = solve(Regressions(X, Y, torch.float64), ridge, config=exact)
    assert found.unconverged == 0
    for p in range(0, Y.shape[1], 3):
        one = LogisticRegression(C=1 / ridge, solver="newton-cholesky", tol=1e-9, max_iter=500)
        one.fit(X.toarray().astype(np.float64), Y[:, [p]].toarray().ravel())
        expected = np.append(one.coef_[0], one.intercept_)
        np.testing.assert_allclose(found.weights[:, p].numpy(), expected, atol=2e-5)


def test_single_precision_and_a_warm_start_come_to_the_same(cohort: Cohort) -> None:
    data = Regressions(*incidences(cohort, np.arange(len(cohort))))
    cold = solve(data, 1.0)
    warm = solve(data, 1.0, solve(data, 10.0).weights)
    exact = solve(
        Regressions(*incidences(cohort, np.arange(len(cohort))), torch.float64),
        1.0,
        config=SolverConfig(1e-8, 500),
    )
    for found in (cold, warm):
        assert found.unconverged == 0
        assert float((found.weights - exact.weights).abs().max()) < 0.2
        assert float((found.weights - exact.weights).square().mean().sqrt()) < 0.02


def test_the_gradient_is_the_slope_of_the_objective(cohort: Cohort) -> None:
    X, Y = incidences(cohort, np.arange(len(cohort)))
    data = Regressions(X, Y, torch.float64)
    W = torch.randn(data.pairs.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    W.requires_grad_()
    ridge = torch.full((len(W), 1), 0.7, dtype=torch.float64)
    Z = torch.from_numpy(X.toarray()).double() @ W[:-1] + W[-1]
    y = torch.from_numpy(Y.toarray()).double()
    objective = (torch.nn.functional.softplus(Z) - y * Z).sum() + 0.5 * (ridge * W.square()).sum()
    (expected,) = torch.autograd.grad(objective, W)
    torch.testing.assert_close(data.gradient(W.detach(), torch.arange(Y.shape[1]), ridge), expected)


def test_too_few_iterations_are_admitted(cohort: Cohort) -> None:
    data = Regressions(*incidences(cohort, np.arange(len(cohort))))
    found = solve(data, 0.1, config=SolverConfig(iterations=2))
    assert found.iterations == 2
    assert found.unconverged > 0


def test_scores_are_log_odds(planted: Any, fitted: Callable[[str], Recommender]) -> None:
    """Over the training stays, a regression with a constant predicts each procedure as often as it occurs."""
    stays = planted.cohort.subset(planted.training)
    chances = 1 / (1 + np.exp(-fitted("linear").scores(stays.diagnoses).astype(np.float64)))
    np.testing.assert_allclose(chances.sum(0), stays.procedure_counts, rtol=0.02)
