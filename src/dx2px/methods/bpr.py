"""Bayesian personalised ranking (Rendle 2009) with the mean of a stay's diagnosis vectors as its user.

    loss = −Σ_i Σ_(p,q) log σ(f_i·v_p − f_i·v_q) + λ (‖U_batch‖² + ‖V_batch‖²)        f_i = mean of u_d, d ∈ S_i

In every epoch each procedure p of a stay is paired with a new q, drawn uniformly and without replacement from the
procedures that the stay does not have (|P⁻| = |P⁺|, the paper's rule). X_batch holds the vectors of the batch's codes.
Score: f·v_p.

Our choices, where the paper says nothing: one negative for each positive rather than all pairs; no bias per
procedure; λ from the grid, by validation; Adam, batch size and epochs as for the paper's own model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding, embedding_bag, softplus

from dx2px.methods.baseline import Fitted, Task
from dx2px.methods.initial import initial
from dx2px.methods.negatives import sample_negatives
from dx2px.methods.trials import Trial, choose
from dx2px.methods.vectors import Epochs, VectorBaseline, VectorConfig, kept_vectors
from dx2px.ragged import Ragged
from dx2px.scoring.segments import Floats
from dx2px.training.batch import Batch
from dx2px.training.batches import Batches


@dataclass(frozen=True, kw_only=True)
class BprConfig(VectorConfig):
    """`ridges` is the grid that validation chooses λ from."""

    ridges: tuple[float, ...] = (0.0, 1e-5, 1e-4, 1e-3)


class Bpr(VectorBaseline):
    """Ranks recorded procedures above others, pair by pair."""

    method = "bpr"
    settings_class = BprConfig

    def _learn(self, task: Task) -> Fitted:
        def trials() -> Iterator[Trial[dict[str, Floats]]]:
            for ridge in self.config.ridges:
                own, kept = kept_vectors(self.config, task, learn(self.config, task, ridge))
                yield Trial({"ridge": ridge, **kept}, task.f1(own), own)

        choice = choose(trials(), task.say)
        own = choice.best.learned
        chosen = {"chosen": choice.best.record(), "tried": choice.tried}
        chosen["validation_f1"] = task.under_other_rules(own)
        return Fitted(own, asdict(self.config) | {"seed": task.seed} | chosen)


def learn(config: BprConfig, task: Task, ridge: float) -> Epochs:
    """U and V after each epoch."""
    U, V = (X.requires_grad_() for X in initial(task.sizes, config.dim, config.init, task.seed))
    adam = torch.optim.Adam((U, V), lr=config.lr, fused=True)
    batches = Batches(task.cohort, task.training, config.batch_size, task.seed)
    for epoch in range(config.epochs):
        for batch in batches.epoch(epoch):
            adam.zero_grad()
            negatives = sample_negatives(batch.procedures, task.sizes[1], seed=task.seed, step=batch.step)
            loss(U, V, batch, negatives, ridge).backward()  # type: ignore[no-untyped-call]
            adam.step()
        yield U.detach(), V.detach()


def loss(U: Tensor, V: Tensor, batch: Batch, negatives: Ragged, ridge: float) -> Tensor:
    """The sum over the stays of a batch."""
    codes, starts = torch.from_numpy(batch.diagnoses.values).long(), torch.from_numpy(batch.diagnoses.offsets)
    f = embedding_bag(codes, U, starts[:-1], mode="mean")  # (i, m)
    stay, better, worse = (torch.from_numpy(x) for x in pairs(batch.procedures, negatives))  # (n,) each
    margin = (embedding(stay, f) * (embedding(better, V) - embedding(worse, V))).sum(1)  # (n,)
    total = softplus(-margin).sum()
    if ridge:
        here = torch.from_numpy(np.unique(batch.diagnoses.values))
        there = torch.from_numpy(np.unique(np.concatenate([better, worse])))
        total = total + ridge * (U[here].square().sum() + V[there].square().sum())
    return total


def pairs(procedures: Ragged, negatives: Ragged) -> tuple[Any, Any, Any]:
    """Stay, recorded procedure, other procedure: the j-th entries of a stay's two lists form a pair."""
    stay = negatives.row_of_entry
    better = procedures.values[procedures.offsets[stay] + negatives.place_of_entry]
    return stay, better.astype(np.int64), negatives.values.astype(np.int64)
