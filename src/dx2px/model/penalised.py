"""Transport whose marginals may give way: the penalised problem of Algorithm 2's relaxations, on any device.

    min over T ≥ 0 of   ⟨C, T⟩ + ρ_D KL(T 1 | μ) + ρ_P KL(Tᵀ 1 | ν) + ε KL(T | μνᵀ)

A penalty of infinity is the constraint itself, a penalty of 0 lets the marginal go. The scaling, with
K = μνᵀ ∘ exp(−C/ε) and κ = ρ/(ρ + ε):

    b = (ν ⊘ Kᵀa)^κ_P,    T = diag(a) K diag(b),    a = (μ ⊘ K b)^κ_D

Procedures' marginal kept, diagnoses' let go (κ_P = 1, κ_D = 0): a stays 1 and the first step is the answer,

    T_dp = ν_p μ_d exp(−c_dp/ε) / Σ_d' μ_d' exp(−c_d'p/ε),

a softmax down each column: every procedure asks on its own which diagnosis it belongs to.

Evidence. With f = ε log a and g = ε log b the value of the dual is a lower bound of the optimum, and primal
minus dual falls apart into one sum a side (`side_gap`). The objective is ε-strongly convex in KL, so a gap of δ
proves ‖T − T*‖₁ ≤ √(2δ/ε) (Pinsker). A problem stops once its exact marginals are met to `tolerance` and its gap is
at most `tolerance`·ε. Costs are taken off column by column, lest a whole column of K vanish.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from dx2px.model.kernels import CHECK_EVERY, ROUNDING, TINY

Found = tuple[
    Tensor, Tensor, Tensor, Tensor
]  # plan (i, d, p), evidence (3, i), iterations (i,), converged (i,)


def scale(
    C: Tensor, mu: Tensor, nu: Tensor, entropy: float, penalties: tuple[float, float],
    tolerance: float, steps: int, fixed: bool,
) -> Found:  # fmt: skip
    """Padded problems: rows and columns of no mass bind nothing. Penalties are those of diagnoses and procedures."""
    of_rows, of_columns = (rho / (rho + entropy) if math.isfinite(rho) else 1.0 for rho in penalties)
    least = torch.where(mu[:, :, None] > 0, C, torch.inf).amin(1).nan_to_num(posinf=0.0)  # (i, p)
    K = torch.exp(-(C - least[:, None, :]).clamp_min(0) / entropy) * mu[:, :, None] * nu[:, None, :]
    pull = torch.exp(-least * (1 - of_columns) / entropy)  # (i, p) what the shift of a column costs its mass
    a, plan = torch.ones_like(mu), torch.zeros_like(C)
    evidence, open_ = C.new_zeros((3, len(C))), torch.ones(len(C), dtype=torch.bool, device=C.device)
    iterations, converged = torch.zeros(len(C), dtype=torch.int64, device=C.device), torch.zeros_like(open_)
    limit = max(tolerance * entropy, ROUNDING)
    for step in range(1, steps + 1):
        b = (nu / torch.einsum("idp,id->ip", K, a).clamp_min(TINY)) ** of_columns * pull
        rows = torch.einsum("idp,ip->id", K, b)  # (i, d) without the factor a
        if step == steps or (not fixed and (step == 1 or step % CHECK_EVERY == 0)):
            T = a[:, :, None] * K * b[:, None, :]
            found = _evidence(C, T, (mu, nu), (a, b), least, entropy, penalties)
            good = (found[1] <= tolerance) & (found[2] <= limit)
            ended = open_ & (good | (step == steps))
            plan[ended], evidence[:, ended], iterations[ended], converged[ended] = (
                T[ended], found[:, ended], step, good[ended],
            )  # fmt: skip
            open_ &= ~ended
            if not bool(open_.any()):
                break
        a = (mu / rows.clamp_min(TINY)) ** of_rows
    return plan, evidence, iterations, converged


def _evidence(
    C: Tensor, T: Tensor, marginals: tuple[Tensor, Tensor], scalings: tuple[Tensor, Tensor],
    least: Tensor, entropy: float, penalties: tuple[float, float],
) -> Tensor:  # fmt: skip
    """Cost, error of the exact marginals, gap."""
    sums = T.sum(2), T.sum(1)  # (i, d) (i, p)
    shifts = torch.zeros_like(marginals[0]), least
    error = gap = torch.zeros_like(least[:, 0])
    for total, aim, factor, shift, rho in zip(sums, marginals, scalings, shifts, penalties, strict=True):
        potential = torch.where(aim > 0, entropy * torch.log(factor.clamp_min(TINY)) + shift, 0)
        gap = gap + side_gap(potential, total, aim, rho).sum(1)
        if math.isinf(rho):
            error = error + (total - aim).abs().sum(1)
    return torch.stack(((C * T).sum((1, 2)), error, gap))


def side_gap(f: Tensor, total: Tensor, aim: Tensor, rho: float) -> Tensor:
    """What one side adds to primal minus dual, entry by entry; never negative where the penalty is finite."""
    if math.isinf(rho):
        return f * (total - aim)
    if rho == 0:
        return torch.zeros_like(f)
    divergence = torch.special.xlogy(total, total / aim.clamp_min(TINY)) - total + aim
    part = f * total + rho * divergence + rho * aim * torch.expm1(-f / rho)
    return torch.where(aim > 0, part, 0)
