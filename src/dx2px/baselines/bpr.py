"""Bayesian personalised ranking (Rendle 2009) with the mean of a stay's diagnosis vectors as its user.

    loss = −Σ_i Σ_(p,q) log σ(f_i·v_p − f_i·v_q) + λ (‖U_batch‖² + ‖V_batch‖²)        f_i = mean of u_d, d ∈ S_i

Each procedure p of a stay is paired with one q, drawn anew each time, uniformly and without replacement, from those
the stay has not (|P⁻| = |P⁺|, the paper's rule). X_batch holds the vectors of the batch's codes. Score: f·v_p.

Disclosed choices, the paper being silent: one negative for each positive rather than all pairs; no bias of
procedures; λ from the grid, on validation; Adam, batch and epochs as for the paper's own model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding, embedding_bag, softplus

from dx2px.baselines.method import Fitted, Method, Task, additive
from dx2px.baselines.stays import Seen
from dx2px.baselines.validation import Trial, choose
from dx2px.baselines.vectors import START, initial, inner_products, under_other_rules
from dx2px.model.batch import Batch
from dx2px.model.network import InitConfig
from dx2px.training.batches import Batches

Vectors = tuple[Tensor, Tensor]  # U (d, m), V (p, m)


@dataclass(frozen=True)
class BprConfig:
    """`ridges` is the grid that validation chooses λ from."""

    ridges: tuple[float, ...] = (0.0, 1e-5, 1e-4, 1e-3)
    dim: int = 200
    lr: float = 0.001
    batch_size: int = 300
    epochs: int = 25
    init: InitConfig = field(default_factory=lambda: START)


class Bpr(Method):
    """Pairwise ranking of recorded above other procedures."""

    method = "bpr"

    def __init__(self, config: BprConfig | None = None) -> None:
        self.config = config or BprConfig()

    def _learn(self, task: Task) -> Fitted:
        seen, held_out = Seen.of(task.cohort, task.training), task.held_out()

        def trials() -> Iterator[Trial[Vectors]]:
            for ridge in self.config.ridges:
                vectors = learn(self.config, task, ridge)
                yield Trial({"ridge": ridge}, held_out.f1(_fitted(seen, vectors).scores), vectors)

        choice = choose(trials(), task.say)
        rules = under_other_rules(*choice.best.learned, seen, held_out)
        chosen = {"chosen": choice.best.record(), "tried": choice.tried, "validation_f1": rules}
        return _fitted(seen, choice.best.learned, asdict(self.config) | {"seed": task.seed} | chosen)


def learn(config: BprConfig, task: Task, ridge: float) -> Vectors:
    """U and V after the last epoch."""
    U, V = (X.requires_grad_() for X in initial(task.sizes, config.dim, config.init, task.seed))
    adam = torch.optim.Adam((U, V), lr=config.lr, fused=True)
    batches = Batches(task.cohort, task.training, config.batch_size, task.seed)
    for epoch in range(config.epochs):
        for batch in batches.epoch(epoch):
            adam.zero_grad()
            loss(U, V, batch, ridge).backward()  # type: ignore[no-untyped-call]
            adam.step()
    return U.detach(), V.detach()


def loss(U: Tensor, V: Tensor, batch: Batch, ridge: float) -> Tensor:
    """The sum over the stays of a batch."""
    codes, starts = torch.from_numpy(batch.diagnoses.values).long(), torch.from_numpy(batch.diagnoses.offsets)
    f = embedding_bag(codes, U, starts[:-1], mode="mean")  # (i, m)
    stay, better, worse = (torch.from_numpy(x) for x in pairs(batch))  # (n,) each
    margin = (embedding(stay, f) * (embedding(better, V) - embedding(worse, V))).sum(1)  # (n,)
    total = softplus(-margin).sum()
    if ridge:
        here = torch.from_numpy(np.unique(batch.diagnoses.values))
        there = torch.from_numpy(np.unique(np.concatenate([better, worse])))
        total = total + ridge * (U[here].square().sum() + V[there].square().sum())
    return total


def pairs(batch: Batch) -> tuple[Any, Any, Any]:
    """Stay, recorded procedure, other procedure: the j-th of each stay's two lists go together."""
    stay = batch.negatives.row_of_entry
    place = np.arange(len(stay)) - batch.negatives.offsets[stay]
    better = batch.procedures.values[batch.procedures.offsets[stay] + place]
    return stay, better.astype(np.int64), batch.negatives.values.astype(np.int64)


def _fitted(seen: Seen, vectors: Vectors, settings: dict[str, Any] | None = None) -> Fitted:
    U, V = vectors
    return additive(seen, inner_products(U, V).numpy(), {"U": U.numpy(), "V": V.numpy()}, settings)
