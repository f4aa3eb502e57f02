"""Entropic Wasserstein barycentres of a few topics, for many documents at once, with derivatives.

For topics b_k (histograms over words) and weights λ_i of document i, with H = exp(−C/ε), from v = 1, L times:

    u_ki = b_k ⊘ (H v_ki);   z_ki = Hᵀ u_ki;   ŷ_i = exp(Σ_k λ_ki log z_ki);   v_ki = ŷ_i ⊘ z_ki

Entries of H below `least` are left out. A word that is then connected only to itself has ŷ_i = Π_k b_k^λ_ki after any
number of iterations, derivatives included, so the loop runs over the other words only. With embeddings of codes, the
cost scaled to a maximum of 1 and ε = 0.01, these are few. Leaving entries out is not exact: the scalings v grow from
one iteration to the next, about tenfold for the words that differ most between topics, so in late iterations even small
entries would count.

Axes: n words, c words that are connected to others, k topics, i documents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse  # type: ignore[import-untyped]
from torch import Tensor

Matrix: TypeAlias = "sparse.csr_matrix | NDArray[np.float64]"
_DENSE = 0.15  # share of entries from which a dense product is faster (`benchmarks/baseline_solvers.py`)
_MEMORY = 5e8  # bytes that the unrolled loop may keep for its derivatives


@dataclass(frozen=True, eq=False)
class Kernel:
    """H without its smallest entries: symmetric, 1 on the diagonal."""

    together: NDArray[np.int64]  # (c,) words that are connected to others
    alone: NDArray[np.int64]  # the other words
    matrix: Matrix  # (c, c)

    @classmethod
    def of(cls, cost: NDArray[np.float64], epsilon: float, least: float) -> Kernel:
        """From a symmetric cost with a diagonal of zeros."""
        reach = np.inf if least == 0 else -epsilon * np.log(least)
        rows, columns = np.nonzero(cost < reach)
        H = sparse.csr_matrix((np.exp(-cost[rows, columns] / epsilon), (rows, columns)), shape=cost.shape)
        meets = np.diff(H.indptr) > 1
        together = np.flatnonzero(meets)
        inner = H[together][:, together]
        few = inner.nnz < _DENSE * len(together) ** 2
        return cls(together, np.flatnonzero(~meets), inner if few else inner.toarray())


class _Product(torch.autograd.Function):
    """H v: its derivative is the same product, H being symmetric."""

    @staticmethod
    def forward(ctx: object, v: Tensor, H: Matrix) -> Tensor:
        ctx.H = H  # type: ignore[attr-defined]
        return _multiply(H, v)

    @staticmethod
    def backward(ctx: object, slope: Tensor) -> tuple[Tensor, None]:
        return _multiply(ctx.H, slope), None  # type: ignore[attr-defined]


def _multiply(H: Matrix, v: Tensor) -> Tensor:
    flat = v.detach().reshape(len(v), -1).numpy()
    return torch.from_numpy(H @ flat).view(v.shape)


def barycentres(topics: Tensor, weights: Tensor, kernel: Kernel, iterations: int) -> Tensor:
    """ŷ of each document, (n, i); `topics` (n, k) and `weights` (k, i) may require gradients."""
    y = torch.exp(topics.log() @ weights)  # (n, i): correct for the words of `kernel.alone`
    if not len(kernel.together):
        return y
    b = topics[kernel.together][:, :, None]  # (c, k, 1)
    return y.index_put((torch.from_numpy(kernel.together),), _loop(b, weights, kernel.matrix, iterations))


def _loop(b: Tensor, weights: Tensor, H: Matrix, iterations: int) -> Tensor:
    v = torch.ones(len(b), *weights.shape, dtype=b.dtype)  # (c, k, i)
    for _ in range(iterations):
        u = b / _Product.apply(v, H)  # type: ignore[no-untyped-call]
        z = _Product.apply(u, H)  # type: ignore[no-untyped-call]
        y = torch.exp((weights * z.log()).sum(1))  # (c, i)
        v = y[:, None, :] / z
    return y


def documents_at_once(kernel: Kernel, topics: int, iterations: int) -> int:
    """How many documents fit into memory together."""
    each = 8 * 5 * iterations * topics * max(len(kernel.together), 1)
    return max(1, int(_MEMORY // each))
