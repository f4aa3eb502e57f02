"""Algorithm 2 for one stay, with numpy alone: how the weight of the diagnoses flows to the procedures.

The problem:    min ⟨C, T⟩   over T ≥ 0 with  T 1 = μ,  Tᵀ 1 = ν.
The iteration:  G = exp(−C/β);  K = G ∘ T,  b = ν ⊘ Kᵀa,  a = μ ⊘ K b,  T = diag(a) K diag(b)

With `Penalties`, a marginal may be missed, at a price, and the plan is smoothed by an entropy ε:

    min ⟨C, T⟩ + ρ_D KL(T1 | μ) + ρ_P KL(Tᵀ1 | ν) + ε KL(T | μνᵀ)

It is the same sweep with β = ε, with K = G ∘ μνᵀ throughout, and with the scalings raised to κ = ρ/(ρ + ε).

This is the numpy twin of the compiled solver. The text of `dx2px.methods.paper.transport` explains step size, stopping
rule and evidence; a test keeps the two equal.

Axes: d diagnoses, p procedures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import ModelError
from dx2px.scoring.segments import Doubles, directions

BETA, TOLERANCE, GAP_TOLERANCE, MAX_STEPS = 0.5, 1e-3, 8e-3, 500
CHECK_EVERY = 8
GAP_FLOOR, ROUNDING, TINY = 2e-4, 1e-6, 1e-30


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


@dataclass(frozen=True)
class Penalties:
    """The price of missing a marginal: infinity keeps it exactly, 0 leaves it free.

    By default only the procedures' marginal is kept: each procedure chooses its diagnoses independently.
    """

    diagnoses: float = 0.0
    procedures: float = math.inf
    entropy: float = 0.05

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Penalties | None:
        """Those that a saved model was trained with; None if its transport was the paper's."""
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
            raise ModelError("The model's transport settings cannot be used.")
        return cls(*numbers)


def column_shares(mass: Doubles) -> Doubles:
    """Columns scaled to sum 1; one without mass is shared equally."""
    total = mass.sum(axis=0)
    even = np.full_like(mass, 1 / len(mass))
    shares: Doubles = np.divide(mass, total, out=even, where=total > 0)
    return shares  # (d, p)


def cosine_costs(U: NDArray[np.float32], V: NDArray[np.float32]) -> Doubles:
    """c_dp = 1 − cos(u_d, v_p) (eq 5)."""
    return 1.0 - directions(U) @ directions(V).T  # (d, p)


def solve(C: Doubles, mu: Doubles, nu: Doubles, penalties: Penalties | None = None) -> Transport:
    """Solve one problem: C is (d, p), the marginals are (d,) and (p,) and each sum to 1."""
    problem = _Proximal(C, mu, nu) if penalties is None else _Penalised(C, mu, nu, penalties)
    T, a = np.outer(mu, nu), np.ones_like(mu)
    K = problem.kernel(T)
    for step in range(1, MAX_STEPS + 1):
        b = problem.columns(nu / np.maximum(a @ K, TINY))
        a = problem.rows(mu / np.maximum(K @ b, TINY))
        T = a[:, None] * K * b
        if step in (1, MAX_STEPS) or step % CHECK_EVERY == 0:
            cost, error, gap, good = problem.evidence(T, a, b)
            if good:
                break
        K = problem.kernel(T)
    return Transport(T, cost, error, gap, step, good)


class _Proximal:
    """The paper's problem: both marginals exact, each sweep starts from the previous plan."""

    def __init__(self, C: Doubles, mu: Doubles, nu: Doubles) -> None:
        self.mu, self.nu, self.least = mu, nu, float(C.min())
        self.C = C - self.least
        spread = float(self.C.max())
        self.beta = BETA * min(max(spread, ROUNDING), 1.0)
        self.floor = max(GAP_FLOOR * spread, ROUNDING)
        self.G = np.exp(-self.C / self.beta)

    def kernel(self, T: Doubles) -> Doubles:
        return self.G * T

    def columns(self, scaling: Doubles) -> Doubles:
        return scaling

    rows = columns

    def evidence(self, T: Doubles, a: Doubles, b: Doubles) -> tuple[float, float, float, bool]:
        """Cost, marginal error, duality gap, and whether both are small; rows and columns without mass do not count."""
        C, mu, nu = self.C, self.mu, self.nu
        cost = float((C * T).sum())
        error = float(np.abs(T.sum(axis=1) - mu).sum() + np.abs(T.sum(axis=0) - nu).sum())
        C, potential = (
            C[mu > 0][:, nu > 0],
            self.beta * np.log(a[mu > 0]),
        )  # β log a tends to the dual potential
        g = (C - potential[:, None]).min(axis=0)  # (p,)
        f = (C - g).min(axis=1)  # (d,)
        gap = cost - float(mu[mu > 0] @ f + nu[nu > 0] @ g)
        cost += self.least
        return cost, error, gap, error <= TOLERANCE and gap <= max(GAP_TOLERANCE * cost, self.floor)


class _Penalised:
    """Marginals that may be missed. The least cost of each column is subtracted, so that no column of K vanishes."""

    def __init__(self, C: Doubles, mu: Doubles, nu: Doubles, penalties: Penalties) -> None:
        self.C, self.mu, self.nu, self.epsilon = C, mu, nu, penalties.entropy
        self.rhos = penalties.diagnoses, penalties.procedures
        self.of_rows, self.of_columns = (
            rho / (rho + self.epsilon) if math.isfinite(rho) else 1.0 for rho in self.rhos
        )
        self.least = np.where(mu[:, None] > 0, C, np.inf).min(axis=0)  # (p,)
        self.pull = np.exp(-self.least * (1 - self.of_columns) / self.epsilon)  # (p,) corrects b for that
        self.K: Doubles = np.exp(-np.maximum(C - self.least, 0) / self.epsilon) * np.outer(mu, nu)

    def kernel(self, T: Doubles) -> Doubles:
        return self.K

    def columns(self, scaling: Doubles) -> Doubles:
        found: Doubles = scaling**self.of_columns * self.pull
        return found

    def rows(self, scaling: Doubles) -> Doubles:
        found: Doubles = scaling**self.of_rows
        return found

    def evidence(self, T: Doubles, a: Doubles, b: Doubles) -> tuple[float, float, float, bool]:
        """Cost, error of the exact marginals, duality gap, and whether both are small."""
        epsilon = self.epsilon
        f = epsilon * np.log(np.maximum(a, TINY))
        g = epsilon * np.log(np.maximum(b, TINY)) + self.least
        sides = ((f, T.sum(axis=1), self.mu, self.rhos[0]), (g, T.sum(axis=0), self.nu, self.rhos[1]))
        gap = float(sum(_side_gap(*side) for side in sides))
        error = float(sum(np.abs(total - aim).sum() for _, total, aim, rho in sides if math.isinf(rho)))
        good = error <= TOLERANCE and gap <= max(TOLERANCE * epsilon, ROUNDING)
        return float((self.C * T).sum()), error, gap, good


def _side_gap(f: Doubles, total: Doubles, aim: Doubles, rho: float) -> float:
    """What one marginal adds to primal minus dual."""
    f, total, aim = f[aim > 0], total[aim > 0], aim[aim > 0]
    if math.isinf(rho):
        return float((f * (total - aim)).sum())
    if rho == 0:
        return 0.0
    divergence = total * np.log(np.maximum(total, TINY) / aim) - total + aim
    return float((f * total + rho * divergence + rho * aim * np.expm1(-f / rho)).sum())
