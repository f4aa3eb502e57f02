"""Algorithm 2: the optimal transport between a stay's diagnoses and procedures, for many stays at once.

The problem of each stay (eq 6):   min ⟨C, T⟩   over T ≥ 0 with  T 1 = μ,  Tᵀ 1 = ν.
The iteration, G = exp(−C/β), from T = μνᵀ and a = 1:

    K = G ∘ T,    b = ν ⊘ Kᵀa,    a = μ ⊘ K b,    T = diag(a) K diag(b)

One Sinkhorn sweep a proximal step, with `a` carried over from step to step: started anew, a single sweep
leaves marginals that never settle. Rows of T meet μ after each step; the error stands in the columns.

Step size. The optimum does not change when C is shifted or scaled, but the speed of the iteration hangs on β
relative to the spread of C. Early in training the vectors of a stay point nearly the same way: costs spread
over 0.05, and β = 0.5 is then so cautious that 500 steps do not suffice. So β is multiplied by the spread of
the stay's costs (largest minus smallest) where that is below 1; where they spread wider it is the paper's.
`adaptive=False` is the paper's β throughout.

Stopping. The paper gives no rule. The marginals alone are none: T = μνᵀ meets them before the first step, and
where all costs lie close together they stay met while ⟨C, T⟩ is still several per cent above the optimum. So
each problem stops by itself once two things hold: its L1 marginal error is at most `tolerance`, and its
duality gap is at most `gap_tolerance` of its cost (never asked finer than 2e-4 of the costs' spread). The
gap costs little: at a fixed point a_d G_dp b_p = 1 on
the support of T, so f = β log a tends to the dual potential; its c-transforms g_p = min_d (c_dp − f_d), then
f_d = min_p (c_dp − g_p), are feasible, hence ⟨μ, f⟩ + ⟨ν, g⟩ ≤ optimum is a proof, not a guess. Both errors
are looked at in the first step and in every eighth.

Giving way. The marginals make every diagnosis send its whole weight to some procedure, whether it caused one or
not, and so blur which diagnosis goes with which procedure (docs/faithfulness.md). With `diagnosis_penalty` or
`procedure_penalty` the marginal is only asked for, at that price; `penalised` holds the problem and its solution.
Left at None, both are exact and the plan is the paper's.

Two engines of the same mathematics: a compiled ragged one for the CPU, a padded torch one for other devices.

Axes: i problems, d diagnoses, p procedures; flat arrays hold one problem after another, C and T row by row.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dx2px.errors import InputError
from dx2px.model import penalised
from dx2px.model.batch import Offsets
from dx2px.model.kernels import CHECK_EVERY, GAP_FLOOR, ROUNDING, TINY, Plans, Solver, solve_all
from dx2px.ragged import offsets_of

Floats = NDArray[np.floating]


class ConvergenceWarning(UserWarning):
    """Some transport problems of a batch stopped before they met their tolerances."""


@dataclass(frozen=True)
class TransportConfig:
    """Settings of Algorithm 2; `beta` alone is the paper's, which gives no stopping rule."""

    beta: float = 0.5
    tolerance: float = 1e-3  # L1 error of the marginals
    gap_tolerance: float = 8e-3  # proven distance from the optimum, as a share of the cost
    adaptive: bool = True  # β times the spread of the stay's costs, where that is below 1
    max_steps: int = 500
    fixed_steps: int | None = None  # exactly so many steps instead, whatever the errors
    diagnosis_penalty: float | None = None  # price of leaving μ: None keeps it exactly, 0 lets it go
    procedure_penalty: float | None = None  # price of leaving the procedures' equal weights, likewise
    entropy: float = 0.05  # ε of the penalised problem; the paper's has none

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
        """The procedures' marginal alone: each procedure chooses its diagnoses by itself."""
        return cls(diagnosis_penalty=0.0, entropy=entropy)

    @property
    def penalised(self) -> bool:
        """Whether a marginal may give way; False is the paper's problem."""
        return self.diagnosis_penalty is not None or self.procedure_penalty is not None

    @property
    def penalties(self) -> tuple[float, float]:
        """Of the diagnoses' and the procedures' marginal; infinity where it is exact."""
        rho_d, rho_p = self.diagnosis_penalty, self.procedure_penalty
        return math.inf if rho_d is None else rho_d, math.inf if rho_p is None else rho_p

    @property
    def steps(self) -> int:
        return self.max_steps if self.fixed_steps is None else self.fixed_steps

    def solver(self, dtype: np.dtype[Any]) -> Solver:
        """The settings as the compiled kernels take them."""
        real, fixed = dtype.type, self.fixed_steps is not None
        tolerances = real(self.tolerance), real(self.gap_tolerance)
        penalised = self.penalised, real(self.entropy), *(real(rho) for rho in self.penalties)
        return Solver(real(self.beta), *tolerances, self.steps, fixed, self.adaptive, *penalised)


@dataclass(frozen=True, eq=False)
class TransportResult:
    """Plans, laid flat, with the evidence of how good they are, per problem."""

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
        """The plan of one problem, a row a diagnosis, a column a procedure."""
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
        """Say so, once for the batch, if any problem did not converge."""
        if self.unconverged:
            warnings.warn(self.summary, ConvergenceWarning, stacklevel=2)


def solve(
    cost: Floats,
    mu: Floats,
    nu: Floats,
    rows: NDArray[np.integer],
    columns: NDArray[np.integer],
    config: TransportConfig | None = None,
    device: str | torch.device | None = None,
) -> TransportResult:
    """Solve all problems; problem i is rows[i] × columns[i]. A device asks for the torch engine, on it."""
    config = config or TransportConfig()
    _check(cost, mu, nu, rows, columns)
    if device is not None:
        C, M, N = (torch.from_numpy(np.ascontiguousarray(x)).to(device) for x in (cost, mu, nu))
        return solve_torch(C, M, N, rows, columns, config)
    return _solve_compiled(cost, mu, nu, rows, columns, config)


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


def _solve_compiled(
    cost: Floats,
    mu: Floats,
    nu: Floats,
    rows: NDArray[np.integer],
    columns: NDArray[np.integer],
    config: TransportConfig,
) -> TransportResult:
    dtype = np.dtype(np.float64 if cost.dtype == np.float64 else np.float32)
    C, M, N = (np.ascontiguousarray(x, dtype) for x in (cost, mu, nu))
    out = empty_plans(offsets_of(rows * columns), dtype)
    solve_all(
        C, M, offsets_of(rows), N, offsets_of(columns), config.solver(dtype), out, numba.get_num_threads()
    )
    return TransportResult(
        out.plan, out.indptr, np.asarray(rows, np.int64), *_three(out.evidence), out.iterations, out.converged
    )


def empty_plans(indptr: Offsets, dtype: np.dtype[Any]) -> Plans:
    """Room for the compiled engine's results."""
    count = len(indptr) - 1
    evidence, iterations = np.empty((3, count), dtype), np.empty(count, np.int64)
    return Plans(indptr, np.empty(indptr[-1], dtype), evidence, iterations, np.empty(count, np.bool_))


def _three(evidence: Floats) -> tuple[Floats, Floats, Floats]:
    return evidence[0], evidence[1], evidence[2]


@torch.no_grad()
def solve_torch(
    cost: Tensor,
    mu: Tensor,
    nu: Tensor,
    rows: NDArray[np.integer],
    columns: NDArray[np.integer],
    config: TransportConfig,
) -> TransportResult:
    """The torch engine: problems padded by rows and columns of no mass; finished ones are set aside."""
    n, m = int(rows.max(initial=1)), int(columns.max(initial=1))
    in_mu, in_nu = _mask(rows, n, mu.device), _mask(columns, m, mu.device)  # (i, d) (i, p)
    in_plan = in_mu[:, :, None] & in_nu[:, None, :]  # (i, d, p)
    C, M, N = _pad(cost, in_plan), _pad(mu, in_mu), _pad(nu, in_nu)
    if config.penalised:
        how = config.entropy, config.penalties, config.tolerance, config.steps, config.fixed_steps is not None
        return _result(*penalised.scale(C, M, N, *how), in_plan, rows, columns)
    least = torch.where(in_plan, C, torch.inf).amin((1, 2))  # (i,)
    C = torch.where(in_plan, C - least[:, None, None], 0)
    spread = C.amax((1, 2))  # (i,)
    floor = (GAP_FLOOR * spread).clamp_min(ROUNDING)  # (i,)
    beta = config.beta * (spread.clamp(ROUNDING, 1.0) if config.adaptive else torch.ones_like(spread))  # (i,)
    G, T, a = torch.exp(-C / beta[:, None, None]), M[:, :, None] * N[:, None, :], torch.ones_like(M)
    plan, active = torch.zeros_like(C), torch.arange(len(C), device=C.device)
    evidence = cost.new_zeros((3, len(C)))
    iterations = torch.zeros(len(C), dtype=torch.int64, device=C.device)
    converged = torch.zeros(len(C), dtype=torch.bool, device=C.device)
    for step in range(1, config.steps + 1):
        K = G * T
        b = N / torch.einsum("idp,id->ip", K, a).clamp_min(TINY)
        a = M / torch.einsum("idp,ip->id", K, b).clamp_min(TINY)
        T = a[:, :, None] * K * b[:, None, :]
        last = step == config.steps
        if not last and (config.fixed_steps is not None or (step > 1 and step % CHECK_EVERY)):
            continue
        T = torch.where(T > TINY, T, 0)
        found = _evidence(C, T, M, N, a, beta[:, None])  # (3, i)
        found[0] += least
        small = found[2] <= torch.maximum(config.gap_tolerance * found[0], floor)
        good = (found[1] <= config.tolerance) & small
        done = good | last
        ended = active[done]
        plan[ended], evidence[:, ended], iterations[ended], converged[ended] = (
            T[done],
            found[:, done],
            step,
            good[done],
        )
        if bool(done.all()):
            break
        C, G, T, M, N, a = (x[~done] for x in (C, G, T, M, N, a))
        least, floor, beta, active = least[~done], floor[~done], beta[~done], active[~done]
    return _result(plan, evidence, iterations, converged, in_plan, rows, columns)


def _result(
    plan: Tensor, evidence: Tensor, iterations: Tensor, converged: Tensor, in_plan: Tensor,
    rows: NDArray[np.integer], columns: NDArray[np.integer],
) -> TransportResult:  # fmt: skip
    return TransportResult(
        plan[in_plan].cpu().numpy(), offsets_of(rows * columns), np.asarray(rows, np.int64),
        *_three(evidence.cpu().numpy()), iterations.cpu().numpy(), converged.cpu().numpy(),
    )  # fmt: skip


def _evidence(C: Tensor, T: Tensor, mu: Tensor, nu: Tensor, a: Tensor, beta: Tensor) -> Tensor:
    """Cost, marginal error and duality gap; rows and columns of no mass bind nothing."""
    cost = (C * T).sum((1, 2))  # (i,)
    error = (T.sum(2) - mu).abs().sum(1) + (T.sum(1) - nu).abs().sum(1)  # (i,)
    slack = torch.where(mu > 0, beta * torch.log(a), -torch.inf)[:, :, None]  # (i, d, 1)
    g = torch.where(nu > 0, (C - slack).amin(1), torch.inf)  # (i, p)
    f = torch.where(nu[:, None, :] > 0, C - g[:, None, :], torch.inf).amin(2)  # (i, d)
    dual = (mu * f).sum(1) + torch.where(nu > 0, nu * g, 0).sum(1)
    return torch.stack((cost, error, cost - dual))


def _mask(lengths: NDArray[np.integer], width: int, device: torch.device) -> Tensor:
    return torch.arange(width, device=device) < torch.as_tensor(lengths, device=device)[:, None]


def _pad(flat: Tensor, mask: Tensor) -> Tensor:
    padded = flat.new_zeros(mask.shape)
    padded[mask] = flat
    return padded
