"""Transport of many sources to a few targets, against POT's network simplex."""

from __future__ import annotations

import numpy as np
import ot
import pytest

from dx2px.methods.dwl.few_targets import transport


@pytest.mark.parametrize("targets", [1, 2, 5, 12])
@pytest.mark.parametrize("sources", [1, 2, 9, 200])
@pytest.mark.parametrize("concentration", [0.05, 5.0])
def test_the_plan_costs_what_the_simplex_finds(sources: int, targets: int, concentration: float) -> None:
    rng = np.random.default_rng(sources + targets)
    for costs in (rng.random((sources, targets)), rng.integers(0, 3, (sources, targets)).astype(float)):
        a = rng.dirichlet(np.full(sources, concentration)) + 1e-12
        a, b = a / a.sum(), rng.dirichlet(np.full(targets, 1.0))
        plan = transport(a, b, costs)
        assert plan.min() >= 0
        np.testing.assert_allclose(plan.sum(1), a, atol=1e-14)
        np.testing.assert_allclose(plan.sum(0), b, atol=1e-12)
        assert float((plan * costs).sum()) == pytest.approx(ot.emd2(a, b, costs), abs=1e-12)


def test_where_one_plan_is_best_it_is_the_simplexs() -> None:
    rng = np.random.default_rng(0)
    a, b, costs = rng.dirichlet(np.ones(500)), np.full(7, 1 / 7), rng.random((500, 7))
    np.testing.assert_allclose(transport(a, b, costs), ot.emd(a, b, costs), atol=1e-13)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_the_plan_does_not_depend_on_the_unit_of_cost(scale: float) -> None:
    rng = np.random.default_rng(1)
    a, b, costs = rng.dirichlet(np.ones(300)), rng.dirichlet(np.ones(9)), rng.random((300, 9)) - 0.5
    np.testing.assert_allclose(transport(a, b, scale * costs), transport(a, b, costs), atol=1e-12)


def test_targets_at_equal_cost_share_the_mass() -> None:
    plan = transport(np.full(6, 1 / 6), np.array([0.5, 0.25, 0.25]), np.zeros((6, 3)))
    np.testing.assert_allclose(plan.sum(0), [0.5, 0.25, 0.25], atol=1e-13)
    np.testing.assert_allclose(plan.sum(1), np.full(6, 1 / 6), atol=1e-13)
