"""Logistic regressions of all procedures on the same diagnoses, solved side by side.

For each procedure p, over the stays i with diagnoses S_i and y_ip = 1 where the stay has p:

    min  Σ_i [ softplus(z_ip) − y_ip z_ip ] + (λ/2) Σ_d W_dp²          z_ip = b_p + Σ_{d∈S_i} W_dp

The data enter only through S and the counts Σ_i x_id y_ip. Each column is solved by L-BFGS with its own history and
step, so the result is that of |P| separate regressions; the columns share the two sparse products of an iteration,
which are nearly all of its cost. The objective is convex, so the slope along the direction is enough to tell whether a
step is good. Without a history, the direction is the gradient divided by the curvature λ + n_d q_dp (1 − q_dp) that
each diagnosis would have by itself, where q_dp is the share of its stays that have p.

Axes: i stays, d diagnosis codes and, last, the constant, p procedures.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse  # type: ignore[import-untyped]
from torch import Tensor
from torch.nn.functional import embedding_bag

_FLAT = 0.9  # a step is taken once the slope has fallen to this share of the first (curvature condition)
_LONGEST_SEARCH = 8


@dataclass(frozen=True)
class SolverConfig:
    """When a solution is good enough: when no weight would move by more than `tolerance`, in log odds."""

    tolerance: float = 0.01
    iterations: int = 100
    history: int = 6


@dataclass(frozen=True, eq=False)
class Solution:
    """Weights, of which the last row is the constant, and how they were found."""

    weights: Tensor  # (d, p)
    iterations: int
    unconverged: int  # procedures that did not reach the tolerance


class Regressions:
    """The stays, ready for products from both sides."""

    def __init__(
        self, X: sparse.csr_matrix, Y: sparse.csr_matrix, dtype: torch.dtype = torch.float32
    ) -> None:
        with_constant = sparse.hstack([X, np.ones((X.shape[0], 1), X.dtype)], format="csr")  # (i, d)
        transposed = with_constant.T.tocsr()  # (d, i)
        self._rows, self._columns = _bags(with_constant), _bags(transposed)
        counts = torch.from_numpy((transposed @ Y).toarray())  # (d, p)
        self.pairs = counts.to(dtype)
        self.occurrences = torch.from_numpy(np.diff(transposed.indptr)).to(dtype)  # (d,)

    def start(self) -> Tensor:
        """No diagnosis counts; the constant is each procedure's log odds."""
        W = torch.zeros_like(self.pairs)
        shares = (self.pairs[-1] + 0.5) / (self.occurrences[-1] + 1.0)
        W[-1] = torch.logit(shares)
        return W

    def gradient(self, W: Tensor, columns: Tensor, ridge: Tensor) -> Tensor:
        """Σ_i x_id (σ(z_ip) − y_ip) + λ W_dp, of the chosen procedures."""
        chances = _product(self._rows, W).sigmoid_()  # (i, p)
        return _product(self._columns, chances) - self.pairs[:, columns] + ridge * W  # (d, p)

    def curvature(self) -> Tensor:
        """n_d q_dp (1 − q_dp), with q shrunk a little towards the procedure's share of all stays."""
        shares = (self.pairs[-1] + 0.5) / (self.occurrences[-1] + 1.0)
        q = (self.pairs + shares) / (self.occurrences[:, None] + 1.0)
        return self.occurrences[:, None] * q * (1 - q)  # (d, p)


def _bags(X: sparse.csr_matrix) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(X.indices.astype(np.int64)), torch.from_numpy(X.indptr[:-1].astype(np.int64))


def _product(bags: tuple[Tensor, Tensor], W: Tensor) -> Tensor:
    """The 0/1 matrix times W."""
    indices, offsets = bags
    return embedding_bag(indices, W.contiguous(), offsets, mode="sum")


@torch.no_grad()
def solve(
    data: Regressions, ridge: float, start: Tensor | None = None, config: SolverConfig | None = None
) -> Solution:
    """All columns, beginning at `start`; columns that have converged are left alone."""
    config = config or SolverConfig()
    W = data.start() if start is None else start.clone()
    ridges = torch.full_like(data.occurrences, ridge)[:, None]  # (d, 1)
    ridges[-1] = 0.0
    scale = 1.0 / (data.curvature() + ridges + 1e-6)  # (d, p)
    active = torch.arange(W.shape[1])
    gradient = data.gradient(W, active, ridges)  # (d, a)
    memory = _Memory(config.history)
    for iteration in range(config.iterations):
        rough = (gradient * scale[:, active]).abs().amax(0) > config.tolerance  # (a,)
        if not rough.all():
            active, gradient = active[rough], gradient[:, rough]
            memory.keep(rough)
        if not len(active):
            return Solution(W, iteration, 0)
        direction = -memory.times(gradient, scale[:, active])
        moved, step = _search(data, W[:, active], direction, gradient, active, ridges)
        memory.add(direction * step, moved - gradient, scale[:, active])
        W[:, active] += direction * step
        gradient = moved
    return Solution(W, config.iterations, len(active))


def _search(
    data: Regressions, W: Tensor, direction: Tensor, gradient: Tensor, active: Tensor, ridges: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradient at the end of each column's step, and the step's length."""
    slope = (gradient * direction).sum(0)  # (a,), negative
    step = torch.ones_like(slope)
    moved = data.gradient(W + direction, active, ridges)
    for _ in range(_LONGEST_SEARCH):
        reached = (moved * direction).sum(0)
        poor = torch.nonzero(reached.abs() > _FLAT * slope.abs())[:, 0]
        if not len(poor):
            break
        # Where a straight line through both slopes crosses zero.
        secant = slope[poor] / (slope[poor] - reached[poor]).clamp(max=-1e-30)
        step[poor] *= secant.clamp(0.05, 4.0)
        again = W[:, poor] + direction[:, poor] * step[poor]
        moved[:, poor] = data.gradient(again, active[poor], ridges)
    return moved, step


class _Memory:
    """The last steps s and changes of gradient y, each procedure in its own column."""

    def __init__(self, size: int) -> None:
        self.pairs: deque[tuple[Tensor, Tensor, Tensor]] = deque(maxlen=size)
        self.stretch: Tensor | None = None  # (a,)

    def add(self, s: Tensor, y: Tensor, scale: Tensor) -> None:
        """Remember a step, except in columns whose gradient did not grow along it."""
        product = (s * y).sum(0)
        self.pairs.append((s, y, torch.where(product > 1e-12, 1 / product, 0.0)))
        self.stretch = product / (y * scale * y).sum(0).clamp(min=1e-30)

    def keep(self, columns: Tensor) -> None:
        """Forget all other columns."""
        kept = [(s[:, columns], y[:, columns], inverse[columns]) for s, y, inverse in self.pairs]
        self.pairs = deque(kept, self.pairs.maxlen)
        self.stretch = None if self.stretch is None else self.stretch[columns]

    def times(self, gradient: Tensor, scale: Tensor) -> Tensor:
        """The inverse of the estimated second derivative times the gradient (two-loop recursion)."""
        q, weights = gradient.clone(), []
        for s, y, inverse in reversed(self.pairs):
            weights.append(inverse * (s * q).sum(0))
            q -= weights[-1] * y
        q *= scale if self.stretch is None else scale * self.stretch.clamp(1e-3, 10.0)
        for (s, y, inverse), weight in zip(self.pairs, reversed(weights), strict=True):
            q += (weight - inverse * (y * q).sum(0)) * s
        return q
