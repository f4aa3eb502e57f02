"""One training step of the default method: gradient, learning rate schedule, Adam. Two engines, one result.

`compiled` runs on the CPU, with the gradient written out (`dx2px.methods.coupling.gradient`). `torch` runs on any
device, and for variants of the network, with an automatic gradient. Both make the same draws.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from dx2px.methods.coupling.gradient import Compiled, can_compile
from dx2px.methods.coupling.network import CouplingNetwork
from dx2px.methods.coupling.sampling import Chosen, Sampling
from dx2px.ragged import Ragged
from dx2px.training.adam import AdamConfig, FlatAdam
from dx2px.training.batch import Batch
from dx2px.training.draws import SharedDraws, Source
from dx2px.training.step import StepResult
from dx2px.training.threads import one_torch_thread

Engine = Literal["compiled", "torch"]


@dataclass(frozen=True)
class OneCycle:
    """The learning rate rises from `start`·lr to lr in the `warm_up` share of the steps, then falls to `end`·lr."""

    steps: int
    warm_up: float = 0.2
    start: float = 0.04
    end: float = 4e-6

    def rate(self, step: int) -> float:
        """The factor of the learning rate at a step, counted from 0. Rise and fall are half a cosine each."""
        peak = max(self.warm_up * self.steps, 1.0)
        if step < peak:
            return _between(self.start, 1.0, step / peak)
        return _between(1.0, self.end, (step - peak) / max(self.steps - peak, 1.0))


class CouplingStep:
    """Updates a coupling network batch by batch. What dropout leaves out is a function of (seed, step) alone."""

    measures = ("loss_predictive",)

    def __init__(
        self,
        network: CouplingNetwork,
        adam: AdamConfig,
        schedule: OneCycle,
        seed: int,
        engine: Engine | None = None,
        sampling: Sampling | None = None,
    ) -> None:
        self.network, self.schedule, self.seed, self.sampling = network, schedule, seed, sampling
        self.optimiser = FlatAdam(network, adam)
        self.engine: Engine = engine or ("compiled" if can_compile(network) else "torch")
        self._compiled = Compiled(network) if self.engine == "compiled" else None

    def step(self, batch: Batch) -> StepResult:
        """One update; the result is from before it."""
        result = self.gradient(batch)
        self.update()
        return result

    def update(self) -> None:
        """Move along the gradient, at the rate that the schedule has for this step, then let the own parts decay."""
        rate = self.optimiser.config.lr * self.schedule.rate(self.optimiser.steps)
        with one_torch_thread() if self._compiled else nullcontext():
            self.optimiser.update(rate)
            self.network.shrink(rate)

    def gradient(self, batch: Batch) -> StepResult:
        """The loss of a batch, summed over its stays; its gradient goes to the optimiser."""
        rows, procedures = self._evidence(batch.whole)
        own = slice(batch.first, batch.first + len(batch))
        draws, chosen = self._draws(batch, rows, own), self._chosen(procedures)
        if batch.share is not None:
            rows, procedures = (lists.take(np.arange(own.start, own.stop)) for lists in (rows, procedures))
        loss = self._loss(rows, procedures, draws, chosen)
        return StepResult(len(batch), loss, {"loss_predictive": loss})

    def _loss(self, rows: Ragged, procedures: Ragged, draws: Source, chosen: Chosen | None) -> float:
        """The sum of the stays' losses; its gradient goes to the optimiser."""
        optimiser = self.optimiser
        if self._compiled is not None:
            views = optimiser.views(optimiser.gradient)
            return self._compiled.gradient(rows, procedures, draws, views, chosen)
        loss = self.network.loss(rows, procedures, draws, chosen)
        parts = torch.autograd.grad(loss, list(self.network.parameters()))
        torch.cat([part.reshape(-1) for part in parts], out=optimiser.gradient)
        return loss.item()

    def _evidence(self, whole: Batch) -> tuple[Ragged, Ragged]:
        """The rows of evidence that this step shows of each stay, and the procedures that are left to find."""
        layout = self.network.layout
        if layout is None or whole.known is None:
            return whole.diagnoses, whole.procedures
        stays = whole.diagnoses, whole.procedures, whole.known
        rng = np.random.Generator(np.random.PCG64([self.seed, self.optimiser.steps]))
        return self.network.config.withheld.draw(layout, *stays, rng)

    def _chosen(self, procedures: Ragged) -> Chosen | None:
        """The procedures that this step scores; None for all."""
        return (
            None if self.sampling is None else self.sampling.draw(procedures, self.seed, self.optimiser.steps)
        )

    def _draws(self, batch: Batch, rows: Ragged, own: slice) -> Source:
        mixed = np.random.SeedSequence([self.seed, self.optimiser.steps]).generate_state(1, np.uint64)
        generator = torch.Generator().manual_seed(int(mixed[0] >> np.uint64(1)))
        return generator if batch.share is None else SharedDraws(generator, rows.lengths, own)


def _between(start: float, end: float, share: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * min(share, 1.0))) / 2
