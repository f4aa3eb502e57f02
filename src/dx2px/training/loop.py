"""Algorithm 1: epochs of batches, each a transport update and a gradient step."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray

from dx2px.cohort import Cohort
from dx2px.errors import ModelError, TrainingError
from dx2px.model.network import Network
from dx2px.model.step import Stepper, StepResult
from dx2px.training.batches import Batches, Rows
from dx2px.training.checkpoint import Checkpoint, Position, fingerprint
from dx2px.training.config import Device, TrainingConfig
from dx2px.training.history import Epoch, Progress, Sums

Weights = dict[str, NDArray[Any]]
Validate = Callable[[Network], float]


@dataclass(frozen=True)
class Hooks:
    """How a run talks to its surroundings; each does nothing unless given."""

    progress: Callable[[Progress], None] = lambda progress: None
    epoch: Callable[[Epoch], None] = lambda epoch: None
    stop: Callable[[], bool] = lambda: False  # asked after each step; True ends the run with a checkpoint


@dataclass(frozen=True)
class Outcome:
    """A finished run: the weights kept, and how they came about. `finished` is False when it was stopped."""

    weights: Weights
    history: list[Epoch]
    best_epoch: int
    finished: bool


class Trainer:
    """One run over the rows of a cohort. Weights depend on cohort, rows, config and machine alone."""

    def __init__(
        self,
        cohort: Cohort,
        rows: Rows,
        config: TrainingConfig,
        *,
        validate: Validate | None = None,
        device: Device = "cpu",
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.config, self.validate, self.checkpoint = config, validate, checkpoint
        self.batches = Batches(cohort, rows, config.batch_size, config.seed)
        self.data = fingerprint(cohort, rows)
        sizes = len(cohort.diagnosis_vocabulary), len(cohort.procedure_vocabulary)
        network = Network(*sizes, config.model).init(torch.Generator().manual_seed(config.seed), config.init)
        self.network = network.to(device)
        self.stepper = Stepper(self.network, config.transport, config.adam)
        self.position = Position()
        self.best: Weights = {}

    def resume(self) -> None:
        """Take up the run that the checkpoint holds."""
        if self.checkpoint is None:
            raise ModelError("There is no checkpoint to resume from.")
        held = Checkpoint.load(self.checkpoint)
        if held.config != self.config.to_dict():
            raise ModelError(
                f"{os.fspath(self.checkpoint)} is of a run with other settings; resume with the same."
            )
        if held.data != self.data:
            raise ModelError(f"{os.fspath(self.checkpoint)} is of a run on other stays or another split.")
        for name, array in held.part("weight").items():
            with torch.no_grad():
                self.network.get_parameter(name).copy_(torch.from_numpy(array))
        self.stepper.load_state(held.part("optimiser"))
        self.best = held.part("best")
        self.position = held.position

    def run(self, hooks: Hooks | None = None) -> Outcome:
        """Learn until the last epoch, until patience runs out, or until asked to stop."""
        hooks = hooks or Hooks()
        while self.position.epoch < self.config.epochs and not self._out_of_patience():
            if not self._run_epoch(hooks):
                self._save()
                return self._outcome(finished=False)
            hooks.epoch(self._end_epoch())
            self._save()
        return self._outcome(finished=True)

    def _run_epoch(self, hooks: Hooks) -> bool:
        """The rest of the current epoch; False when asked to stop before its end."""
        at = self.position
        for batch in self.batches.epoch(at.epoch, at.step):
            start = time.perf_counter()
            result = self.stepper.step(batch)
            self._add(at.sums, result, time.perf_counter() - start)
            at.step += 1
            hooks.progress(self._progress())
            if at.step < len(self.batches) and hooks.stop():
                return False
        return True

    def _add(self, sums: Sums, result: StepResult, seconds: float) -> None:
        if not math.isfinite(result.loss_predictive + result.loss_transport):
            raise TrainingError(
                f"The loss is no longer finite in epoch {self.position.epoch + 1}, step {self.position.step + 1}: "
                "try a smaller learning rate or a smaller initialisation."
            )
        sums.stays += result.stays
        sums.predictive += result.loss_predictive
        sums.transport += result.loss_transport
        sums.unconverged += result.unconverged
        sums.steps += result.transport_steps
        sums.seconds += seconds

    def _end_epoch(self) -> Epoch:
        at = self.position
        f1 = self.validate(self.network) if self.validate else math.nan
        epoch = at.sums.epoch(at.epoch + 1, f1)
        at.history.append(epoch)
        if f1 > at.best_f1:
            at.best_f1, at.best_epoch, self.best = f1, at.epoch + 1, self._weights()
        at.epoch, at.step, at.sums = at.epoch + 1, 0, Sums()
        return epoch

    def _out_of_patience(self) -> bool:
        patience = self.config.patience
        return patience is not None and self.position.epoch - max(self.position.best_epoch, 0) >= patience

    def _progress(self) -> Progress:
        at, steps = self.position, len(self.batches)
        done = sum(epoch.seconds for epoch in at.history) + at.sums.seconds
        share = (at.epoch * steps + at.step) / (self.config.epochs * steps)
        total = at.sums.predictive + self.config.model.alpha * at.sums.transport
        return Progress(
            epoch=at.epoch + 1,
            epochs=self.config.epochs,
            step=at.step,
            steps=steps,
            loss=total / at.sums.stays,
            stays_per_second=at.sums.stays / at.sums.seconds if at.sums.seconds else 0.0,
            seconds_left=done / share - done,
        )

    def _weights(self) -> Weights:
        return {name: p.detach().cpu().numpy().copy() for name, p in self.network.named_parameters()}

    def _save(self) -> None:
        if self.checkpoint is None:
            return
        parts = {"weight": self._weights(), "best": self.best, "optimiser": self.stepper.state()}
        arrays = {f"{part}.{name}": array for part, named in parts.items() for name, array in named.items()}
        Checkpoint(self.config.to_dict(), self.data, self.position, arrays).save(self.checkpoint)

    def _outcome(self, finished: bool) -> Outcome:
        at = self.position
        keep_best = self.best and (self.config.keep == "best" or self.config.patience is not None)
        return Outcome(self.best if keep_best else self._weights(), at.history, at.best_epoch, finished)


def set_threads(threads: int) -> None:
    """Let torch and the compiled kernels share this many threads."""
    import numba

    torch.set_num_threads(threads)
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]


def resolve_device(device: Device) -> Device:
    """Refuse a device that this machine or this torch has not."""
    missing = (device == "cuda" and not torch.cuda.is_available()) or (
        device == "mps" and not torch.backends.mps.is_available()
    )
    if missing:
        raise TrainingError(f"This machine has no {device} device that torch can use.")
    return device
