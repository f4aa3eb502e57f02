"""What the training loop asks of a method: a learner, that is, a network and the step that updates it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from torch import nn

from dx2px.training.adam import FlatAdam
from dx2px.training.batch import Batch


@dataclass(frozen=True)
class StepResult:
    """The losses of one step, before its update: sums over the stays."""

    stays: int = 0
    loss: float = 0.0
    measures: Mapping[str, float] = field(default_factory=dict)  # the method's own, summed over the stays


class Learner(Protocol):
    """A network and the step that updates it."""

    optimiser: FlatAdam

    @property
    def network(self) -> nn.Module:
        """Its parameters are views of the optimiser's flat buffer."""

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the method's own measures, the same in every step."""

    def gradient(self, batch: Batch) -> StepResult:
        """The losses of a batch, summed over its stays; their gradient goes to `optimiser.gradient`."""

    def update(self) -> None:
        """Move the parameters along `optimiser.gradient`."""
