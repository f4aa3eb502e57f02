"""What a run measured, epoch by epoch, and what it tells while it runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

import pyarrow as pa


@dataclass(frozen=True)
class Epoch:
    """One pass over the training stays. Losses are means over stays (eqs 2 and 6)."""

    epoch: int
    loss_predictive: float
    loss_transport: float
    validation_f1: float  # F1@5 on the validation part, per cent; NaN without one
    unconverged: float  # share of transport problems that stopped before their tolerances
    transport_steps: float  # mean number of proximal steps
    seconds: float
    stays: int

    @property
    def stays_per_second(self) -> float:
        """Training stays a second, validation left out."""
        return self.stays / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Progress:
    """Where a run stands, told after each step."""

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float  # mean total loss a stay in this epoch so far
    stays_per_second: float
    seconds_left: float


@dataclass
class Sums:
    """Running sums of an epoch; part of a checkpoint, so that a resumed epoch reports the same."""

    stays: int = 0
    predictive: float = 0.0
    transport: float = 0.0
    unconverged: int = 0
    steps: int = 0
    seconds: float = 0.0

    def epoch(self, number: int, f1: float) -> Epoch:
        """The finished epoch."""
        n = max(self.stays, 1)
        return Epoch(
            epoch=number,
            loss_predictive=self.predictive / n,
            loss_transport=self.transport / n,
            validation_f1=f1,
            unconverged=self.unconverged / n,
            transport_steps=self.steps / n,
            seconds=self.seconds,
            stays=self.stays,
        )


def history_table(history: list[Epoch]) -> pa.Table:
    """A row an epoch."""
    types = {"int": pa.int64(), "float": pa.float64()}
    schema = pa.schema([(f.name, types[str(f.type)]) for f in fields(Epoch)])
    return pa.Table.from_pylist([asdict(epoch) for epoch in history], schema)
