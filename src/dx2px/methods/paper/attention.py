"""Fusing a stay's diagnoses into one vector: self-attention (eqs 3, 4), max pooling, mean pooling.

Plain torch, for any device and precision. Stays are ragged: one flat axis has the diagnoses of all stays, and `stay`
is the stay that each entry belongs to.

Axes: i stays, n diagnoses of all stays laid flat, q distinct diagnosis codes, k heads, m dimensions.
"""

from __future__ import annotations

import torch
from torch import Tensor


def segment_sum(values: Tensor, stay: Tensor, stays: int) -> Tensor:
    """Sum the entries of each stay."""
    total = values.new_zeros((stays, *values.shape[1:]))  # (i, ...)
    return total.index_add(0, stay, values)  # (i, ...)


def segment_softmax(values: Tensor, stay: Tensor, stays: int) -> Tensor:
    """Softmax over the entries of each stay, column by column."""
    owner = stay.view(-1, *[1] * (values.dim() - 1)).expand_as(values)
    peak = values.new_full((stays, *values.shape[1:]), -torch.inf)
    peak = peak.scatter_reduce(0, owner, values.detach(), "amax")  # (i, ...)
    weight = torch.exp(values - peak[stay])  # (n, ...)
    return weight / segment_sum(weight, stay, stays)[stay]  # (n, ...)


def head_scores(X: Tensor, A: Tensor, a: Tensor) -> Tensor:
    """a_kᵀ tanh(A_k u_d), the part of eq 3 that depends on the code alone.

    It is the same in every stay, so it is computed once per distinct code.
    """
    H = torch.tanh(torch.einsum("kij,qj->qki", A, X))  # (q, k, m)
    return torch.einsum("ki,qki->qk", a, H)  # (q, k)


def significance(scores: Tensor, stay: Tensor, stays: int, B: Tensor, b: Tensor) -> Tensor:
    """μ of every stay from its codes' head scores: softmax per head (eq 3), then the second layer (eq 4)."""
    W = segment_softmax(scores, stay, stays)  # (n, k)  eq 3
    return segment_softmax(torch.tanh(W @ B.T) @ b, stay, stays)  # (n,)  eq 4


def weighted_sum(U: Tensor, mu: Tensor, stay: Tensor, stays: int) -> Tensor:
    """f(U_D) = U_D μ."""
    return segment_sum(U * mu[:, None], stay, stays)  # (i, m)


def uniform(stay: Tensor, stays: int, dtype: torch.dtype) -> Tensor:
    """1/|D_i| for each diagnosis, which turns `weighted_sum` into mean pooling."""
    sizes = torch.bincount(stay, minlength=stays)
    return (1.0 / sizes.to(dtype))[stay]  # (n,)


def max_pooling(U: Tensor, stay: Tensor, stays: int) -> Tensor:
    """The largest value of each dimension over a stay's diagnoses.

    Of equal values the first diagnosis counts, so that the subgradient is the same on every device.
    """
    owner = stay[:, None].expand_as(U)
    values = U.detach()
    peak = values.new_full((stays, U.shape[1]), -torch.inf).scatter_reduce(0, owner, values, "amax")
    place = torch.arange(len(U), device=U.device)[:, None].expand_as(owner)
    place = torch.where(values == peak[stay], place, len(U))  # (n, m)
    first = place.new_full((stays, U.shape[1]), len(U)).scatter_reduce(0, owner, place, "amin")
    return U.gather(0, first)  # (i, m)
