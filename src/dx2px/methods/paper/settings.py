"""The settings of a training run of the paper's model."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from dx2px.methods.initial import InitConfig
from dx2px.methods.paper.network import PaperConfig, PaperNetwork
from dx2px.methods.paper.step import PaperStep
from dx2px.methods.paper.transport import TransportConfig
from dx2px.training.config import Device, LoopConfig, Start


@dataclass(frozen=True, kw_only=True)
class PaperTraining(LoopConfig):
    """The settings of a run of the paper's model. The defaults are the paper's, where it states them (section 5.1).

    Attributes:
        epochs: Passes over the training stays.
        batch_size: Stays per step.
        seed: Fixes the initial weights, the order of the stays and all other draws.
        patience: Stop after this many epochs without a better validation F1@5 and keep the best epoch's weights; None
            runs all epochs.
        keep: Keep the weights of the `last` epoch, or of the `best` one on validation.
        adam: Settings of the optimiser.
        model: Variant, dimension, heads and weight of the transport loss.
        init: How the weights start; the paper does not say.
        transport: Settings of the transport solver.

    Raises:
        InputError: A setting is out of range.
    """

    model: PaperConfig = field(default_factory=PaperConfig)
    init: InitConfig = field(default_factory=InitConfig)
    transport: TransportConfig = field(default_factory=TransportConfig)

    @property
    def method(self) -> str:
        return self.model.variant

    def learner(self, start: Start, device: Device = "cpu") -> PaperStep:
        generator = torch.Generator().manual_seed(self.seed)
        network = PaperNetwork(*start.sizes, self.model).init(generator, self.init)
        return PaperStep(network.to(device), self.transport, self.adam, seed=self.seed)
