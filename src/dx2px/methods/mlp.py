"""A perceptron with one hidden layer; its input is the stay's diagnoses as zeros and ones.

    h = relu(c + Σ_{d∈S} H_d)        s_p(S) = b_p + W_p·h

Loss, over the procedures Q of a stay: "softmax" −Σ_{p∈Q} log softmax(s)_p, or "bce" Σ_p softplus(s_p) − Σ_{p∈Q} s_p.
The loss and the dropout of the hidden layer are chosen on the validation stays: first the loss, at the middle dropout;
then, with the better loss, higher dropouts as long as they help, otherwise lower ones. Validation also decides when to
stop: the epoch with the best F1@5 is kept, and learning stops after `patience` epochs without a better one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag, softplus

from dx2px.methods.baseline import Baseline, Fitted, Task
from dx2px.methods.trials import Trial, best_epoch, choose
from dx2px.ragged import Ragged
from dx2px.scoring.scorer import BLOCK
from dx2px.scoring.segments import Floats
from dx2px.training.batch import Batch
from dx2px.training.batches import Batches

Loss = Literal["softmax", "bce"]
T = TypeVar("T")
Weights = dict[str, Tensor]  # H (d, h), c (h,), W (p, h), b (p,)


@dataclass(frozen=True)
class MlpConfig:
    """Validation chooses among `losses`, and among `dropout` and the values on either side of it, nearest first."""

    losses: tuple[Loss, ...] = ("softmax", "bce")
    dropout: float = 0.5
    higher: tuple[float, ...] = (0.7, 0.8)
    lower: tuple[float, ...] = (0.3, 0.1)
    hidden: int = 512
    init_scale: float = 0.1  # deviation of H at the start; W is uniform in ±1/√hidden, b the log odds
    lr: float = 0.001
    batch_size: int = 300
    epochs: int = 40
    patience: int = 3


class Mlp(Baseline):
    """One hidden layer."""

    method = "mlp"

    def __init__(self, config: MlpConfig | None = None) -> None:
        self.config = config or MlpConfig()

    def _learn(self, task: Task) -> Fitted:
        def tried(loss: Loss, drop: float) -> Trial[dict[str, Floats]]:
            return _Run(self.config, task, loss, drop).trial()

        choice = choose(_walk(self.config, tried), task.say)
        chosen = {"chosen": choice.best.record(), "tried": choice.tried}
        return Fitted(choice.best.learned, asdict(self.config) | {"seed": task.seed} | chosen)

    def blurred_scores(self, rows: Ragged, generator: torch.Generator) -> Floats:
        """With the dropout of training."""
        drop = self.settings()["chosen"]["dropout"]
        weights = {name: torch.from_numpy(array) for name, array in self.arrays().items()}
        parts = [blurred(weights, block, drop, generator).numpy() for block in rows.blocks(BLOCK)]
        return np.concatenate(parts)  # (i, p)


def _walk(config: MlpConfig, tried: Callable[[Loss, float], Trial[T]]) -> Iterator[Trial[T]]:
    """Every loss at the middle dropout; then the best of them upwards from it, or downwards if that does not help."""
    best: dict[Loss, float] = {}
    for loss in config.losses:
        trial = tried(loss, config.dropout)
        best[loss] = trial.f1
        yield trial
    chosen = max(best, key=lambda loss: best[loss])  # the first of several equals
    for side in (config.higher, config.lower):
        here = best[chosen]
        for drop in side:
            trial = tried(chosen, drop)
            yield trial
            if trial.f1 <= here:
                break
            here = trial.f1
        if here > best[chosen]:
            return


class _Run:
    """Learning with one loss and one dropout; every draw comes from the task's seed."""

    def __init__(self, config: MlpConfig, task: Task, loss: Loss, drop: float) -> None:
        self.config, self.task, self.loss, self.drop = config, task, loss, drop
        self.batches = Batches(task.cohort, task.training, config.batch_size, task.seed)
        self.generator = torch.Generator().manual_seed(task.seed)
        shares = torch.from_numpy(task.seen["popularity"]) / len(task.training)
        self.weights = initial(config, task.sizes[0], shares, self.generator)
        self.adam = torch.optim.Adam(self.weights.values(), lr=config.lr, fused=True)

    def trial(self) -> Trial[dict[str, Floats]]:
        """The epoch that did best on validation."""
        best = best_epoch(self._epochs(), self.task.f1, self.config.patience)
        return Trial({"loss": self.loss, "dropout": self.drop, "epoch": best.number}, best.f1, best.learned)

    def _epochs(self) -> Iterator[dict[str, Floats]]:
        for epoch in range(self.config.epochs):
            for batch in self.batches.epoch(epoch):
                self._step(batch)
            yield _arrays(self.weights)

    def _step(self, batch: Batch) -> None:
        s = blurred(self.weights, batch.diagnoses, self.drop, self.generator)  # (i, p)
        coded = batch.procedures
        stays, codes, number = (
            torch.from_numpy(x) for x in (coded.row_of_entry, coded.values, coded.lengths)
        )
        total = softplus(s).sum() if self.loss == "bce" else (torch.logsumexp(s, 1) * number).sum()
        self.adam.zero_grad()
        ((total - s[stays, codes.long()].sum()) / len(batch)).backward()  # type: ignore[no-untyped-call]
        self.adam.step()


def initial(config: MlpConfig, diagnoses: int, shares: Tensor, generator: torch.Generator) -> Weights:
    """Weights before learning; the constants b already hold the procedures' frequencies."""
    width = config.hidden**-0.5
    weights = {
        "H": torch.empty(diagnoses, config.hidden).normal_(0, config.init_scale, generator=generator),
        "c": torch.zeros(config.hidden),
        "W": torch.empty(len(shares), config.hidden).uniform_(-width, width, generator=generator),
        "b": shares.logit(eps=1e-6),
    }
    return {name: weight.requires_grad_() for name, weight in weights.items()}


def hidden(weights: Weights, codes: Any, offsets: Any) -> Tensor:
    """h of each stay."""
    bags = torch.from_numpy(codes).long(), torch.from_numpy(offsets[:-1])
    return torch.relu(embedding_bag(bags[0], weights["H"], bags[1], mode="sum") + weights["c"])  # (i, h)


def blurred(weights: Weights, diagnoses: Ragged, drop: float, generator: torch.Generator) -> Tensor:
    """s of each stay and procedure, with dropout."""
    h = hidden(weights, diagnoses.values, diagnoses.offsets)  # (i, h)
    kept = torch.empty_like(h).bernoulli_(1 - drop, generator=generator)
    return outputs(weights, h * kept / (1 - drop))  # (i, p)


def outputs(weights: Weights, h: Tensor) -> Tensor:
    """s of each procedure."""
    return torch.addmm(weights["b"], h, weights["W"].T)  # (i, p)


def _arrays(weights: Weights) -> dict[str, Floats]:
    return {name: weight.detach().numpy().copy() for name, weight in weights.items()}
