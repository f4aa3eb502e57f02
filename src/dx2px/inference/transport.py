"""Algorithm 2 for one stay, with numpy alone: how the weight of the diagnoses flows to the procedures.

The problem:    min ⟨C, T⟩   over T ≥ 0 with  T 1 = μ,  Tᵀ 1 = ν.
The iteration:  G = exp(−C/β);  K = G ∘ T,  b = ν ⊘ Kᵀa,  a = μ ⊘ K b,  T = diag(a) K diag(b)

Steps, warm start, step size, defaults and stopping rule are those of `dx2px.model.transport`, whose text
explains them: β is scaled by the spread of the costs where that is below 1, and a problem stops once its L1
marginal error and its duality gap are both small, looked at in the first step and every eighth. A test holds
the two to the same plan.

`solve_penalised` is the twin of `dx2px.model.penalised`: marginals that may give way, at a price.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import ModelError

BETA, TOLERANCE, GAP_TOLERANCE, MAX_STEPS = 0.5, 1e-3, 8e-3, 500
CHECK_EVERY = 8
GAP_FLOOR, ROUNDING, TINY, NORM_FLOOR = 2e-4, 1e-6, 1e-30, 1e-12

Doubles = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Transport:
    """A plan, with the evidence of how good it is."""

    plan: Doubles  # (d, p)
    cost: float  # ⟨C, T⟩
    marginal_error: float  # ‖T1 − μ‖₁ + ‖Tᵀ1 − ν‖₁, of the marginals that are exact
    gap: float  # ⟨C, T⟩, with its penalties, minus a proven lower bound of the optimum
    iterations: int
    converged: bool

    @property
    def shares(self) -> Doubles:
        """Each procedure's column, scaled to sum 1; a procedure without mass is shared equally."""
        return column_shares(self.plan)  # (d, p)


def column_shares(mass: Doubles) -> Doubles:
    """Columns scaled to sum 1; one without mass is shared equally."""
    total = mass.sum(axis=0)
    even = np.full_like(mass, 1 / len(mass))
    shares: Doubles = np.divide(mass, total, out=even, where=total > 0)
    return shares  # (d, p)


def solve(C: Doubles, mu: Doubles, nu: Doubles) -> Transport:
    """Solve one problem: C is (d, p), the marginals are (d,) and (p,) and each sum to 1."""
    least = float(C.min())
    C = C - least
    spread = float(C.max())
    beta, floor = BETA * min(max(spread, ROUNDING), 1.0), max(GAP_FLOOR * spread, ROUNDING)
    G, T, a = np.exp(-C / beta), np.outer(mu, nu), np.ones_like(mu)
    for step in range(1, MAX_STEPS + 1):
        K = G * T
        b = nu / np.maximum(a @ K, TINY)
        a = mu / np.maximum(K @ b, TINY)
        T = a[:, None] * K * b
        if step in (1, MAX_STEPS) or step % CHECK_EVERY == 0:
            cost, error, gap = _evidence(C, T, mu, nu, beta, a)
            good = error <= TOLERANCE and gap <= max(GAP_TOLERANCE * (cost + least), floor)
            if good:
                break
    return Transport(T, cost + least, error, gap, step, good)


@dataclass(frozen=True)
class Penalties:
    """The price of leaving a marginal: infinity keeps it, 0 lets it go. By default procedures choose alone."""

    diagnoses: float = 0.0
    procedures: float = math.inf
    entropy: float = 0.05

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Penalties | None:
        """Those that a saved model was trained with; None where its transport was the paper's."""
        held = settings.get("transport")
        if not isinstance(held, Mapping):
            return None
        given = [held.get("diagnosis_penalty"), held.get("procedure_penalty")]
        if given == [None, None]:
            return None
        numbers = [
            *(math.inf if price is None else price for price in given),
            held.get("entropy", cls.entropy),
        ]
        if not all(isinstance(number, int | float) and number >= 0 for number in numbers) or not numbers[-1]:
            raise ModelError("The model's settings of its transport cannot be used.")
        return cls(*numbers)


def solve_penalised(C: Doubles, mu: Doubles, nu: Doubles, penalties: Penalties | None = None) -> Transport:
    """min ⟨C, T⟩ + ρ_D KL(T1 | μ) + ρ_P KL(Tᵀ1 | ν) + ε KL(T | μνᵀ), the problem and steps of `model.penalised`."""
    penalties = penalties or Penalties()
    rhos, epsilon = (penalties.diagnoses, penalties.procedures), penalties.entropy
    of_rows, of_columns = (rho / (rho + epsilon) if math.isfinite(rho) else 1.0 for rho in rhos)
    least = np.where(mu[:, None] > 0, C, np.inf).min(axis=0)  # (p,)
    K = np.exp(-np.maximum(C - least, 0) / epsilon) * np.outer(mu, nu)
    pull, a = np.exp(-least * (1 - of_columns) / epsilon), np.ones_like(mu)
    for step in range(1, MAX_STEPS + 1):
        b = (nu / np.maximum(a @ K, TINY)) ** of_columns * pull
        T = a[:, None] * K * b
        if step in (1, MAX_STEPS) or step % CHECK_EVERY == 0:
            f, g = epsilon * np.log(np.maximum(a, TINY)), epsilon * np.log(np.maximum(b, TINY)) + least
            sides = ((f, T.sum(axis=1), mu, rhos[0]), (g, T.sum(axis=0), nu, rhos[1]))
            gap = float(sum(_side_gap(*side) for side in sides))
            error = float(sum(np.abs(total - aim).sum() for _, total, aim, rho in sides if math.isinf(rho)))
            good = error <= TOLERANCE and gap <= max(TOLERANCE * epsilon, ROUNDING)
            if good:
                break
        a = (mu / np.maximum(K @ b, TINY)) ** of_rows
    return Transport(T, float((C * T).sum()), error, gap, step, good)


def _side_gap(f: Doubles, total: Doubles, aim: Doubles, rho: float) -> float:
    """What one marginal adds to primal minus dual."""
    f, total, aim = f[aim > 0], total[aim > 0], aim[aim > 0]
    if math.isinf(rho):
        return float((f * (total - aim)).sum())
    if rho == 0:
        return 0.0
    divergence = total * np.log(np.maximum(total, TINY) / aim) - total + aim
    return float((f * total + rho * divergence + rho * aim * np.expm1(-f / rho)).sum())


def cosine_costs(U: NDArray[np.float32], V: NDArray[np.float32]) -> Doubles:
    """c_dp = 1 − cos(u_d, v_p) (eq 5)."""
    return 1.0 - directions(U) @ directions(V).T  # (d, p)


def directions(X: NDArray[np.float32]) -> Doubles:
    """Rows scaled to length 1."""
    doubles = X.astype(np.float64)
    lengths: Doubles = np.linalg.norm(doubles, axis=1, keepdims=True)
    return doubles / np.maximum(lengths, NORM_FLOOR)  # (·, m)


def _evidence(
    C: Doubles, T: Doubles, mu: Doubles, nu: Doubles, beta: float, a: Doubles
) -> tuple[float, float, float]:
    """Cost, marginal error and duality gap; rows and columns of no mass bind nothing."""
    cost = float((C * T).sum())
    error = float(np.abs(T.sum(axis=1) - mu).sum() + np.abs(T.sum(axis=0) - nu).sum())
    C, potential = C[mu > 0][:, nu > 0], beta * np.log(a[mu > 0])
    g = (C - potential[:, None]).min(axis=0)  # (p,)
    f = (C - g).min(axis=1)  # (d,)
    return cost, error, cost - float(mu[mu > 0] @ f + nu[nu > 0] @ g)
