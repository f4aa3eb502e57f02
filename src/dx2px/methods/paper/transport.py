"""Algorithm 2: the optimal transport between a stay's diagnoses and procedures, for many stays at once.

The problem of each stay (eq 6):   min ⟨C, T⟩   over T ≥ 0 with  T 1 = μ,  Tᵀ 1 = ν.
The iteration, G = exp(−C/β), from T = μνᵀ and a = 1:

    K = G ∘ T,    b = ν ⊘ Kᵀa,    a = μ ⊘ K b,    T = diag(a) K diag(b)

One Sinkhorn sweep per proximal step, with `a` carried over from step to step: reset to 1 each time, a single sweep
leaves marginals that never settle. After each step the rows of T meet μ; the remaining error is in the columns.

Step size. The optimum does not change when C is shifted or scaled, but the speed of the iteration depends on β relative
to the spread of C. Early in training the vectors of a stay point in nearly the same direction: the costs spread over
0.05, and with β = 0.5 the steps are so small that 500 of them do not suffice. So β is multiplied by the spread of the
stay's costs (largest minus smallest) if that is below 1; otherwise it is the paper's. `adaptive=False` always uses the
paper's β.

Stopping. The paper gives no rule. The marginals alone do not give one: T = μνᵀ meets them before the first step, and if
all costs are close together they stay met while ⟨C, T⟩ is still several per cent above the optimum. So a problem stops
once its L1 marginal error is at most `tolerance` and its duality gap is at most `gap_tolerance` of its cost (never
finer than 2e-4 of the costs' spread). The gap is cheap to compute: at a fixed point a_d G_dp b_p = 1 on the support of
T, so f = β log a tends to the dual potential; its c-transforms g_p = min_d (c_dp − f_d), then f_d = min_p (c_dp − g_p),
are feasible, hence ⟨μ, f⟩ + ⟨ν, g⟩ ≤ optimum is proven. Both errors are computed in the first step and in every eighth.

Penalties. The marginals make every diagnosis send its whole weight to some procedure, whether it caused one or not,
which blurs which diagnosis goes with which procedure (docs/faithfulness.md). With `diagnosis_penalty` ρ_D or
`procedure_penalty` ρ_P a marginal may be missed, at that price; with None it is exact, as in the paper:

    min over T ≥ 0 of   ⟨C, T⟩ + ρ_D KL(T 1 | μ) + ρ_P KL(Tᵀ 1 | ν) + ε KL(T | μνᵀ)

The sweep is the same with β = ε, K = μνᵀ ∘ exp(−C/ε) throughout, and the scalings raised to κ = ρ/(ρ + ε):

    b = (ν ⊘ Kᵀa)^κ_P,    a = (μ ⊘ K b)^κ_D,    T = diag(a) K diag(b)

If the procedures' marginal is exact and the diagnoses' is free (κ_P = 1, κ_D = 0), a stays 1 and the first sweep is
the solution, a softmax down each column: T_dp = ν_p μ_d exp(−c_dp/ε) / Σ_d' μ_d' exp(−c_d'p/ε). Evidence: with
f = ε log a and g = ε log b the dual value is a lower bound of the optimum, and primal minus dual is one sum over rows
plus one over columns. The objective is ε-strongly convex in KL, so a gap of δ proves ‖T − T*‖₁ ≤ √(2δ/ε) (Pinsker). A
problem stops once its exact marginals are met to `tolerance` and its gap is at most `tolerance`·ε.

One compiled solver (`kernels`) serves training; the gradient treats plans as constants, so no torch is needed here. Its
numpy twin, `dx2px.scoring.transport`, serves answers.

Axes: i problems, d diagnoses, p procedures; flat arrays hold one problem after another, C and T row by row.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from dx2px.errors import InputError
from dx2px.methods.paper.kernels import Plans, Solver, solve_all
from dx2px.ragged import offsets_of

Floats = NDArray[np.floating]
Offsets = NDArray[np.int64]


class ConvergenceWarning(UserWarning):
    """Some transport problems of a batch stopped before they reached their tolerances."""


@dataclass(frozen=True)
class TransportConfig:
    """Settings of Algorithm 2. Only `beta` is the paper's, which gives no stopping rule.

    Attributes:
        beta: Step size β.
        tolerance: The largest L1 error of the marginals of a converged plan.
        gap_tolerance: Its largest proven distance from the optimum, as a share of the cost.
        adaptive: Multiply β by the spread of the stay's costs if that is below 1; False is the paper's.
        max_steps: Stop after this many steps, converged or not.
        fixed_steps: Make exactly this many steps, whatever the errors.
        diagnosis_penalty: Price of missing μ, the diagnoses' weights: None keeps it exactly, 0 leaves it free.
        procedure_penalty: The same for ν, the procedures' equal weights.
        entropy: ε of the penalised problem; the paper's problem has none.

    Raises:
        InputError: A setting is out of range, or both penalties are 0.
    """

    beta: float = 0.5
    tolerance: float = 1e-3
    gap_tolerance: float = 8e-3
    adaptive: bool = True
    max_steps: int = 500
    fixed_steps: int | None = None
    diagnosis_penalty: float | None = None
    procedure_penalty: float | None = None
    entropy: float = 0.05

    def __post_init__(self) -> None:
        values = {"beta": self.beta, "tolerance": self.tolerance, "gap_tolerance": self.gap_tolerance}
        values["entropy"] = self.entropy
        problems = [
            f"{name} must be positive, not {value}" for name, value in values.items() if not value > 0
        ]
        problems += self._penalty_problems()
        steps = {"max_steps": self.max_steps, "fixed_steps": self.fixed_steps}
        problems += [
            f"{name} must be at least 1, not {n}" for name, n in steps.items() if n is not None and n < 1
        ]
        if problems:
            raise InputError("transport settings: " + "; ".join(problems))

    def _penalty_problems(self) -> list[str]:
        given = {"diagnosis_penalty": self.diagnosis_penalty, "procedure_penalty": self.procedure_penalty}
        problems = [
            f"{name} must be 0 or more, not {rho}"
            for name, rho in given.items()
            if rho is not None and not 0 <= rho < math.inf
        ]
        if all(rho == 0 for rho in given.values()):
            problems.append("with both penalties 0 nothing is left of the marginals: set one of them")
        return problems

    @classmethod
    def semi_relaxed(cls, entropy: float = 0.05) -> TransportConfig:
        """Only the procedures' marginal: each procedure chooses its diagnoses independently."""
        return cls(diagnosis_penalty=0.0, entropy=entropy)

    @property
    def penalised(self) -> bool:
        """Whether a marginal may be missed; False is the paper's problem."""
        return self.diagnosis_penalty is not None or self.procedure_penalty is not None

    @property
    def penalties(self) -> tuple[float, float]:
        """Of the diagnoses' and the procedures' marginal; infinity if it is exact."""
        rho_d, rho_p = self.diagnosis_penalty, self.procedure_penalty
        return math.inf if rho_d is None else rho_d, math.inf if rho_p is None else rho_p

    @property
    def steps(self) -> int:
        return self.max_steps if self.fixed_steps is None else self.fixed_steps

    def solver(self, dtype: np.dtype[Any]) -> Solver:
        """The settings as the compiled kernels take them."""
        real, fixed = dtype.type, self.fixed_steps is not None
        tolerances = real(self.tolerance), real(self.gap_tolerance)
        kappas = (rho / (rho + self.entropy) if math.isfinite(rho) else 1.0 for rho in self.penalties)
        prices = (real(self.entropy), *map(real, self.penalties), *map(real, kappas))
        return Solver(real(self.beta), *tolerances, self.steps, fixed, self.adaptive, self.penalised, *prices)


@dataclass(frozen=True, eq=False)
class TransportResult:
    """Plans, laid flat, with the evidence of how good each one is."""

    plan: Floats  # (Σ |D_i||P_i|,)
    indptr: Offsets  # (i + 1,) where each plan starts
    rows: Offsets  # (i,) |D_i|
    cost: Floats  # (i,) ⟨C, T⟩
    marginal_error: Floats  # (i,) ‖T1 − μ‖₁ + ‖Tᵀ1 − ν‖₁, of the marginals that are exact
    gap: Floats  # (i,) ⟨C, T⟩, with its penalties, minus a proven lower bound of the optimum
    iterations: NDArray[np.int64]  # (i,)
    converged: NDArray[np.bool_]  # (i,)

    def __len__(self) -> int:
        return len(self.cost)

    def __getitem__(self, problem: int) -> Floats:
        """The plan of one problem, one row per diagnosis and one column per procedure."""
        flat = self.plan[self.indptr[problem] : self.indptr[problem + 1]]
        return flat.reshape(self.rows[problem], -1)

    @property
    def unconverged(self) -> int:
        return len(self) - int(self.converged.sum())

    @property
    def summary(self) -> str:
        """One line on the batch."""
        if len(self) == 0:
            return "no transport problems"
        return (
            f"{self.unconverged} of {len(self)} transport problems unconverged; "
            f"largest marginal error {self.marginal_error.max():.1e}, largest gap {self.gap.max():.1e}, "
            f"{self.iterations.mean():.0f} steps on average, {self.iterations.max()} at most"
        )

    def warn_unconverged(self) -> None:
        """Warn once for the batch if any problem did not converge."""
        if self.unconverged:
            warnings.warn(self.summary, ConvergenceWarning, stacklevel=2)


def solve(
    cost: Floats,
    mu: Floats,
    nu: Floats,
    rows: NDArray[np.integer],
    columns: NDArray[np.integer],
    config: TransportConfig | None = None,
) -> TransportResult:
    """Solve all problems; problem i has rows[i] × columns[i] costs. Threads are those of `numba.set_num_threads`."""
    config = config or TransportConfig()
    _check(cost, mu, nu, rows, columns)
    dtype = np.dtype(np.float64 if cost.dtype == np.float64 else np.float32)
    C, M, N = (np.ascontiguousarray(x, dtype) for x in (cost, mu, nu))
    out = empty_plans(offsets_of(rows * columns), dtype)
    solve_all(
        C, M, offsets_of(rows), N, offsets_of(columns), config.solver(dtype), out, numba.get_num_threads()
    )
    return TransportResult(
        out.plan, out.indptr, np.asarray(rows, np.int64), *_three(out.evidence), out.iterations, out.converged
    )


def _check(
    cost: Floats, mu: Floats, nu: Floats, rows: NDArray[np.integer], columns: NDArray[np.integer]
) -> None:
    expected = {"cost": int((rows * columns).sum()), "mu": int(rows.sum()), "nu": int(columns.sum())}
    given = {"cost": len(cost), "mu": len(mu), "nu": len(nu)}
    problems = [f"{k} holds {given[k]} values, must hold {n}" for k, n in expected.items() if given[k] != n]
    if len(rows) != len(columns) or (len(rows) and min(rows.min(), columns.min()) < 1):
        problems.append("every problem needs at least one row and one column")
    if problems:
        raise InputError("transport problems: " + "; ".join(problems))


def empty_plans(indptr: Offsets, dtype: np.dtype[Any]) -> Plans:
    """Room for the results of the compiled solver."""
    count = len(indptr) - 1
    evidence, iterations = np.empty((3, count), dtype), np.empty(count, np.int64)
    return Plans(indptr, np.empty(indptr[-1], dtype), evidence, iterations, np.empty(count, np.bool_))


def _three(evidence: Floats) -> tuple[Floats, Floats, Floats]:
    """Cost, marginal error and gap."""
    return evidence[0], evidence[1], evidence[2]
