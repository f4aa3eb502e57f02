"""Aligning two graphs of codes: the proximal-point coupling of Gromov–Wasserstein learning (Xu 2019), step 1.

    min_T  ⟨Γ(T), T⟩ + ⟨K, T⟩         over couplings T of (μ, ν)
    Γ(T) = (C_s∘C_s) μ 1ᵀ + 1 νᵀ (C_t∘C_t)ᵀ − 2 C_s T C_tᵀ                 (square loss)

Iterated from T = μνᵀ, a = μ, with one Sinkhorn sweep per step. The scaling a is carried over from step to step: reset
to 1 each time, the iteration stalls before it meets the marginals.

    Q = exp(−(Γ(T) + K)/γ) ∘ T;   b = ν ⊘ (Qᵀa);   a = μ ⊘ (Qb);   T = diag(a) Q diag(b)

A constant added to a row of the cost only changes a, so each row's least cost is subtracted before the exponential and
kept as a logarithm beside a. The products with T, which take nearly all of the time, are in the precision of the
distances. The plan and its scalings are in double precision: an entry that underflows stays zero, and in single
precision NHDS small lost so many entries that a quarter of the mass ended in the wrong columns.

Soon a few entries of the plan have nearly all of its mass. Then the first product, the larger one, uses only those:
what it leaves out of a column is in total below the rounding error of that column's mass, in the precision of the
distances, and the distances are bounded (benchmarks/baseline_solvers.py: shares of entries, times, and how far plans
differ).

Axes: s and t nodes of the two graphs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse  # type: ignore[import-untyped]
from torch import Tensor

_TINY = 1e-300
FEW = 0.1  # share of the entries up to which a sparse product is faster


@dataclass(frozen=True)
class CouplingConfig:
    """The paper's values; `tolerance` ends the loop early, as in the authors' later code."""

    gamma: float = 0.01
    steps: int = 200
    tolerance: float = 1e-4  # ‖T − T_before‖₁ / ‖T_before‖₁
    warm: bool = True  # False starts each sweep from a = 1, only for comparison with POT


@dataclass(frozen=True, eq=False)
class Coupling:
    """A plan, with the evidence of how well it converged; its row sums are exact."""

    plan: Tensor  # (s, t)
    steps: int
    change: float  # relative L1 change of the plan in the last step
    column_error: float  # L1

    def converged(self, config: CouplingConfig) -> bool:
        """Whether the plan had stopped changing."""
        return self.change < config.tolerance


def gradient_term(Cs: Tensor, Ct: Tensor, mu: Tensor, nu: Tensor, T: Tensor) -> Tensor:
    """Γ(T)."""
    return constant_term(Cs, Ct, mu, nu) - 2 * (Cs @ T @ Ct.T)  # (s, t)


def constant_term(Cs: Tensor, Ct: Tensor, mu: Tensor, nu: Tensor) -> Tensor:
    """The part of Γ that does not depend on the plan."""
    return (Cs.square() @ mu)[:, None] + (Ct.square() @ nu)[None, :]  # (s, t)


@torch.no_grad()
def couple(Cs: Tensor, Ct: Tensor, mu: Tensor, nu: Tensor, K: Tensor, config: CouplingConfig) -> Coupling:
    """The coupling after at most `steps` proximal steps."""
    fixed = constant_term(Cs, Ct, mu, nu) + K  # (s, t)
    mu, nu = mu.double(), nu.double()
    T = torch.outer(mu, nu)
    log_a = mu.log() if config.warm else torch.zeros_like(mu)
    step, change = 0, torch.inf
    while step < config.steps and change >= config.tolerance:
        cost = torch.addmm(fixed, _carried(Cs, T), Ct.T, alpha=-2.0)
        least = cost.amin(1, keepdim=True)  # (s, 1)
        Q = cost.sub_(least).double().div_(-config.gamma).exp_().mul_(T)
        lift = least[:, 0].double() / config.gamma  # Q here is diag(exp lift) times the Q above
        b = nu / (Q.T @ _scaling(log_a - lift)).clamp_(min=_TINY)
        a = mu / (Q @ b).clamp_(min=_TINY)
        log_a = a.log() + lift if config.warm else torch.zeros_like(log_a)
        T_before, T = T, Q.mul_(a[:, None]).mul_(b)
        step, change = step + 1, float((T - T_before).abs().sum() / T_before.abs().sum())
    return Coupling(T.to(Cs.dtype), step, change, float((T.sum(0) - nu).abs().sum()))


def _carried(Cs: Tensor, T: Tensor) -> Tensor:
    """C_s T, in the precision of the distances."""
    kept = weighty(T, Cs.dtype)
    if np.count_nonzero(kept) > FEW * kept.size:
        return Cs @ T.to(Cs.dtype)
    row, column = np.nonzero(kept)
    mass = T.numpy()[row, column].astype(Cs.numpy().dtype)
    few = sparse.csr_matrix((mass, (column, row)), shape=kept.T.shape)  # (t, s)
    return torch.from_numpy(few @ Cs.numpy().T).T  # (s, t)


def weighty(T: Tensor, precision: torch.dtype) -> NDArray[np.bool_]:
    """The entries that count; the others of a column add up to less than half a rounding error of its mass."""
    negligible = T.sum(0) * (torch.finfo(precision).eps / 2 / len(T))  # (t,)
    return (negligible < T).numpy()  # (s, t)


def _scaling(logarithms: Tensor) -> Tensor:
    """Exponentials, scaled so that the largest is 1: b cancels a common factor of a."""
    return (logarithms - logarithms.amax()).exp()  # (s,)
