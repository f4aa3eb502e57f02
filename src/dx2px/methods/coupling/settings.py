"""The settings of a training run of the default method; docs/method.md has the study behind these defaults."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import torch

from dx2px.methods.coupling import size
from dx2px.methods.coupling.network import CouplingConfig, CouplingNetwork
from dx2px.methods.coupling.sampling import Sampling
from dx2px.methods.coupling.step import CouplingStep, OneCycle
from dx2px.training.adam import AdamConfig
from dx2px.training.config import Device, LoopConfig, Start


@dataclass(frozen=True, kw_only=True)
class CouplingTraining(LoopConfig):
    """The settings of a run of the default method.

    Attributes:
        epochs: Passes over the training stays.
        batch_size: Stays per step; None to choose it by the number of stays, as is the model's dropout
            (`dx2px.methods.coupling.size`).
        seed: Fixes the initial weights, the order of the stays and all other draws.
        patience: Stop after this many epochs without a better validation F1@5 and keep the best epoch's weights; None
            runs all epochs.
        keep: Keep the weights of the `last` epoch, or of the `best` one on validation.
        adam: Settings of the optimiser. The learning rate rises to `lr` and then falls (`OneCycle`).
        model: Size of the model, dropout and loss.

    Raises:
        InputError: A setting is out of range.
    """

    epochs: int = 12
    batch_size: int | None = None
    adam: AdamConfig = field(default_factory=lambda: AdamConfig(lr=0.004))
    model: CouplingConfig = field(default_factory=CouplingConfig)

    @property
    def method(self) -> str:
        return "coupling"

    @property
    def takes_evidence(self) -> bool:
        return self.model.evidence == "stay"

    def for_stays(self, stays: int) -> Self:
        """What is not set follows the number of stays."""
        batch, dropout = self.batch_size, self.model.dropout
        return replace(
            self,
            batch_size=size.batch_size(stays) if batch is None else batch,
            model=replace(self.model, dropout=size.dropout(stays) if dropout is None else dropout),
        )

    def learner(self, start: Start, device: Device = "cpu") -> CouplingStep:
        generator = torch.Generator().manual_seed(self.seed)
        shares = start.procedure_counts / max(start.stays, 1)
        network = CouplingNetwork(*start.sizes, self.model, start.categories, start.layout)
        seen = start.diagnosis_counts if start.row_counts is None else start.row_counts
        if start.initial is None:
            network.init(generator, seen, shares)
        else:
            network.start_from(start.initial)
        sample = size.sample(len(shares)) if self.model.sample is None else self.model.sample
        sampling = None if sample is None or sample >= len(shares) else Sampling(shares, sample)
        schedule = OneCycle(start.steps)
        return CouplingStep(network.to(device), self.adam, schedule, self.seed, sampling=sampling)
