"""What a run measures in each epoch, and what it reports while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from dx2px.training.step import StepResult


@dataclass(frozen=True)
class Epoch:
    """One pass over the training stays; losses and the method's own measures are means over stays."""

    epoch: int
    loss: float
    validation_f1: float  # F1@5 on the validation part, in per cent; NaN without one
    seconds: float
    stays: int
    measures: Mapping[str, float] = field(default_factory=dict)

    @property
    def stays_per_second(self) -> float:
        """Training stays per second, without the time for validation."""
        return self.stays / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Progress:
    """How far a run has come, reported after each step."""

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float  # mean loss per stay in this epoch so far
    stays_per_second: float
    seconds_left: float


@dataclass
class Sums:
    """Running sums of an epoch; part of a checkpoint, so that a resumed epoch reports the same."""

    stays: int = 0
    loss: float = 0.0
    seconds: float = 0.0
    measures: dict[str, float] = field(default_factory=dict)

    def add(self, result: StepResult, seconds: float) -> None:
        """One more step."""
        self.stays += result.stays
        self.loss += result.loss
        self.seconds += seconds
        for name, value in result.measures.items():
            self.measures[name] = self.measures.get(name, 0.0) + value

    def epoch(self, number: int, f1: float) -> Epoch:
        """The means of a finished epoch."""
        n = max(self.stays, 1)
        means = {name: value / n for name, value in self.measures.items()}
        return Epoch(number, self.loss / n, f1, self.seconds, self.stays, means)


def history_table(history: list[Epoch]) -> pa.Table:
    """One row per epoch; the columns between `epoch` and `validation_f1` are the method's own measures."""
    names = list(history[0].measures) if history else []
    types = {"epoch": pa.int64(), **dict.fromkeys(names, pa.float64()), "validation_f1": pa.float64()}
    types |= {"seconds": pa.float64(), "stays": pa.int64()}
    rows = [vars(epoch) | dict(epoch.measures) for epoch in history]
    return pa.Table.from_pylist(rows, pa.schema(list(types.items())))
