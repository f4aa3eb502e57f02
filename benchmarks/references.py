"""What the speed of the paper's training step is compared with: the same step, written in other ways.

`Literal`: one stay at a time in torch, as the equations read.
`Padded`: masked dense batches in torch, as a competent practitioner would write it.
`floor`: the bare matrix products that the first attention layer needs for a batch's distinct codes.

Both training references run 50 steps of Algorithm 2, without any check: with β = 0.5 that gives an accuracy of about
0.1 % on random embeddings, and is less work than a stopping rule would be.

Shared by the benchmarks; not run by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize, softplus

from dx2px.methods.paper.batch import PaperBatch
from dx2px.methods.paper.network import PaperNetwork
from dx2px.ragged import Ragged
from dx2px.training.batch import Batch

BETA, STEPS = 0.5, 50


@dataclass(frozen=True)
class Shape:
    """A data set of the paper; `skew` is the power of frequency over rank that its rarest code fits."""

    name: str
    diagnoses: int
    procedures: int
    skew: float


SHAPES = (
    Shape("small", 247, 75, 0.65),
    Shape("medium", 874, 258, 0.8),
    Shape("large", 2765, 819, 1.0),
)


def batches(shape: Shape, count: int, stays: int = 300, seed: int = 0) -> list[PaperBatch]:
    """Batches of stays with about 10 × 4 codes, 1–41 × 1–40, common codes more often than rare ones."""
    rng = np.random.default_rng(seed)

    def rows(vocabulary: int, lengths: np.ndarray) -> Ragged:
        weight = np.arange(1, vocabulary + 1) ** -shape.skew
        chance = weight / weight.sum()
        return Ragged.from_lists([rng.choice(vocabulary, n, replace=False, p=chance) for n in lengths])

    made = []
    for step in range(count):
        diagnoses = rows(shape.diagnoses, np.clip(rng.gamma(2.5, 4.2, stays).astype(int), 1, 41))
        procedures = rows(shape.procedures, np.clip(rng.geometric(0.25, stays), 1, 40))
        made.append(PaperBatch.of(Batch(diagnoses, procedures, step), shape.procedures, seed))
    return made


class Literal:
    """Algorithm 1 with a Python loop over the stays of the batch."""

    def __init__(self, network: PaperNetwork) -> None:
        self.network = network
        self.optimiser = torch.optim.Adam(network.parameters(), lr=0.001)

    def step(self, batch: PaperBatch) -> float:
        loss = torch.stack([self._stay(*stay) for stay in _stays(batch)]).sum()
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        return loss.item()

    def _stay(self, diagnoses: Tensor, procedures: Tensor, negatives: Tensor) -> Tensor:
        n = self.network
        U, V = n.U[diagnoses].T, n.V[procedures].T
        w = [torch.softmax(n.a[k] @ torch.tanh(n.A[k] @ U), 0) for k in range(n.config.heads)]
        mu = torch.softmax(n.b @ torch.tanh(n.B @ torch.stack(w)), 0)
        f = U @ mu
        predictive = softplus(-(V.T @ f)).sum() + softplus(n.V[negatives] @ f).sum()
        C = 1 - normalize(U, dim=0).T @ normalize(V, dim=0)
        with torch.no_grad():
            nu = torch.full((len(procedures),), 1 / len(procedures))
            G, T, a = torch.exp(-C / BETA), torch.outer(mu, nu), torch.ones_like(mu)
            for _ in range(STEPS):
                K = G * T
                b = nu / (K.T @ a)
                a = mu / (K @ b)
                T = a[:, None] * K * b
        return predictive + n.config.alpha * (C * T).sum()


def _stays(batch: PaperBatch) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    for i in range(len(batch)):
        rows = batch.diagnoses[i], batch.procedures[i], batch.negatives[i]
        diagnoses, procedures, negatives = (torch.from_numpy(row.astype(np.int64)) for row in rows)
        yield diagnoses, procedures, negatives


class Padded:
    """Algorithm 1 on rectangular batches: codes are padded to the longest stay and masked."""

    def __init__(self, network: PaperNetwork) -> None:
        self.network = network
        self.optimiser = torch.optim.Adam(network.parameters(), lr=0.001)

    def step(self, batch: PaperBatch) -> float:
        n = self.network
        D, d_mask = _pad(batch.diagnoses)  # (i, d)
        P, p_mask = _pad(batch.procedures)  # (i, p)
        N, n_mask = _pad(batch.negatives)
        U, V = n.U[D], n.V[P]  # (i, d, m) (i, p, m)
        K, M = n.a.shape
        H = torch.tanh(U @ n.A.view(K * M, M).T).view(*D.shape, K, M)  # (i, d, k, m)
        scores = (H * n.a).sum(-1)  # (i, d, k)
        W = torch.softmax(scores.masked_fill(~d_mask[:, :, None], -torch.inf), 1)
        mu = torch.softmax((torch.tanh(W @ n.B.T) @ n.b).masked_fill(~d_mask, -torch.inf), 1)  # (i, d)
        f = (mu[:, None, :] @ U).squeeze(1)  # (i, m)
        positive = softplus(-(V @ f[:, :, None]).squeeze(-1)) * p_mask
        negative = softplus((n.V[N] @ f[:, :, None]).squeeze(-1)) * n_mask
        C = 1 - normalize(U, dim=-1) @ normalize(V, dim=-1).mT  # (i, d, p)
        T = self._plans(C.detach(), mu.detach(), p_mask / p_mask.sum(1, keepdim=True))
        loss = positive.sum() + negative.sum() + n.config.alpha * (C * T).sum()
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        return loss.item()

    @torch.no_grad()
    def _plans(self, C: Tensor, mu: Tensor, nu: Tensor) -> Tensor:
        G, T, a = torch.exp(-C / BETA), mu[:, :, None] * nu[:, None, :], torch.ones_like(mu)[:, :, None]
        for _ in range(STEPS):
            K = G * T
            b = nu[:, :, None] / (K.mT @ a).clamp_min(1e-30)
            a = mu[:, :, None] / (K @ b).clamp_min(1e-30)
            T = a * K * b.mT
        return T


def _pad(rows: Ragged) -> tuple[Tensor, Tensor]:
    mask = np.arange(rows.lengths.max())[None, :] < rows.lengths[:, None]
    padded = np.zeros(mask.shape, dtype=np.int64)
    padded[mask] = rows.values
    return torch.from_numpy(padded), torch.from_numpy(mask)


class Floor:
    """Only the forward and backward matrix products of eq 3's first layer, for a number of distinct codes."""

    def __init__(self, codes: int, dim: int, heads: int) -> None:
        generator = torch.Generator().manual_seed(0)
        self.X = torch.randn(codes, dim, generator=generator)
        self.A = torch.randn(heads * dim, dim, generator=generator)
        self.Z, self.dA, self.dX = (
            torch.empty(codes, heads * dim),
            torch.empty_like(self.A),
            torch.empty_like(self.X),
        )

    def step(self) -> None:
        torch.mm(self.X, self.A.T, out=self.Z)
        torch.mm(self.Z.T, self.X, out=self.dA)
        torch.mm(self.Z, self.A, out=self.dX)
