"""The training loop: epochs of batches, one step of the learner per batch."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dx2px.cohort import Cohort
from dx2px.errors import ModelError, TrainingError
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.training.batch import Batch
from dx2px.training.batches import Rows
from dx2px.training.checkpoint import Checkpoint, Position, Rhythm
from dx2px.training.config import Device, LoopConfig, Start
from dx2px.training.history import Epoch, Progress, Sums
from dx2px.training.processes import ALONE, Processes
from dx2px.training.stays import HeldStays, TrainingStays
from dx2px.training.step import StepResult

Weights = dict[str, NDArray[Any]]
Validate = Callable[[Any], float]  # of the network
SAVE_EVERY = 60.0  # seconds between checkpoints inside an epoch


@dataclass(frozen=True)
class Hooks:
    """How a run reports to its caller; each hook does nothing unless given."""

    progress: Callable[[Progress], None] = lambda progress: None  # after each step
    epoch: Callable[[Epoch, int], None] = lambda epoch, epochs: (
        None
    )  # after each epoch, with their total number
    stop: Callable[[], bool] = lambda: False  # called after each step; True ends the run with a checkpoint


@dataclass(frozen=True)
class Outcome:
    """The weights that a run keeps, and its history. `finished` is False if the run was stopped."""

    weights: Weights
    history: list[Epoch]
    best_epoch: int
    finished: bool


class Trainer:
    """One run over the rows of a cohort, or over streamed stays.

    The weights depend only on stays, config and machine. Several processes each make a `Trainer` of the same stays and
    learn the same weights, up to the order of sums; the first of them validates and writes the checkpoint.
    """

    def __init__(
        self,
        cohort: Cohort | TrainingStays,
        rows: Rows | None,
        config: LoopConfig,
        *,
        validate: Validate | None = None,
        device: Device = "cpu",
        checkpoint: str | os.PathLike[str] | None = None,
        save_every: float = SAVE_EVERY,
        processes: Processes = ALONE,
        initial: Weights | None = None,
    ) -> None:
        stays = _stays(cohort, rows)
        self.config = config = config.for_stays(len(stays))
        self.validate, self.checkpoint, self.processes = validate, checkpoint, processes
        self.layout = stays.layout() if config.takes_evidence else None
        assert config.batch_size is not None
        self.batches = stays.batches(config.batch_size, config.seed, self.layout)
        start = replace(_start(stays, config.epochs * len(self.batches), self.layout), initial=initial)
        self.data = _data(stays, start)
        self.learner = config.learner(start, device)
        self.network = self.learner.network
        self.position = Position()
        self.best: Weights = {}
        self._rhythm = Rhythm(save_every)

    def resume(self) -> None:
        """Continue the run that the checkpoint holds."""
        if self.checkpoint is None:
            raise ModelError("There is no checkpoint to resume from.")
        held = Checkpoint.load(self.checkpoint)
        if held.config != self.config.to_dict():
            raise ModelError(
                f"{os.fspath(self.checkpoint)} is of a run with other settings; resume with the same ones."
            )
        if held.data != self.data:
            raise ModelError(f"{os.fspath(self.checkpoint)} is of a run on other stays or another split.")
        for name, array in held.part("weight").items():
            with torch.no_grad():
                self.network.get_parameter(name).copy_(torch.from_numpy(array))
        self.learner.optimiser.load_state(held.part("optimiser"))
        self.best = held.part("best")
        self.position = held.position

    def take_up(self) -> None:
        """Resume if the checkpoint is of this very run, as after a restart; otherwise start from the beginning."""
        with contextlib.suppress(ModelError):
            self.resume()

    def run(self, hooks: Hooks | None = None) -> Outcome:
        """Learn until the last epoch, until patience runs out, or until asked to stop."""
        hooks = hooks or Hooks()
        self.processes.check_same(self._state())
        while self.position.epoch < self.config.epochs and not self._out_of_patience():
            if not self._run_epoch(hooks):
                self._save()
                return self._outcome(finished=False)
            hooks.epoch(self._end_epoch(), self.config.epochs)
            self._save()
        return self._outcome(finished=True)

    def _run_epoch(self, hooks: Hooks) -> bool:
        """The rest of the current epoch; False if stopped before its end."""
        at = self.position
        for batch in self.batches.epoch(at.epoch, at.step, self.processes.cut):
            start = time.perf_counter()
            result = self._step(batch)
            self._check_finite(result)
            at.sums.add(result, time.perf_counter() - start)
            at.step += 1
            hooks.progress(self._progress())
            if at.step < len(self.batches):
                if self.processes.any(hooks.stop()):
                    return False
                if self._rhythm.due():
                    self._save()
        return True

    def _step(self, batch: Batch) -> StepResult:
        """One update from this process's share of a batch and the others'."""
        optimiser = self.learner.optimiser
        self.processes.prepare(optimiser)
        # A batch smaller than the number of processes leaves some without stays.
        empty = StepResult(measures=dict.fromkeys(self.learner.measures, 0.0))
        result = self.learner.gradient(batch) if len(batch) else empty
        self.processes.sum_gradient(optimiser)
        self.learner.update()
        return self.processes.sum_result(result)

    def _check_finite(self, result: StepResult) -> None:
        if not math.isfinite(result.loss):
            raise TrainingError(
                f"The loss is no longer finite in epoch {self.position.epoch + 1}, step {self.position.step + 1}: "
                "try a smaller learning rate or a smaller initialisation."
            )

    def _end_epoch(self) -> Epoch:
        at = self.position
        f1 = self.processes.of_first(self._validation())
        epoch = at.sums.epoch(at.epoch + 1, f1)
        at.history.append(epoch)
        if f1 > at.best_f1:
            at.best_f1, at.best_epoch, self.best = f1, at.epoch + 1, self._weights()
        at.epoch, at.step, at.sums = at.epoch + 1, 0, Sums()
        return epoch

    def _validation(self) -> float:
        return self.validate(self.network) if self.validate and self.processes.first else math.nan

    def _out_of_patience(self) -> bool:
        patience = self.config.patience
        return patience is not None and self.position.epoch - max(self.position.best_epoch, 0) >= patience

    def _progress(self) -> Progress:
        at, steps = self.position, len(self.batches)
        done = sum(epoch.seconds for epoch in at.history) + at.sums.seconds
        share = (at.epoch * steps + at.step) / (self.config.epochs * steps)
        return Progress(
            epoch=at.epoch + 1,
            epochs=self.config.epochs,
            step=at.step,
            steps=steps,
            loss=at.sums.loss / at.sums.stays,
            stays_per_second=at.sums.stays / at.sums.seconds if at.sums.seconds else 0.0,
            seconds_left=done / share - done,
        )

    def _weights(self) -> Weights:
        return {name: p.detach().cpu().numpy().copy() for name, p in self.network.named_parameters()}

    def _save(self) -> None:
        if self.checkpoint is None or not self.processes.first:
            return
        start = time.monotonic()
        parts = {"weight": self._weights(), "best": self.best, "optimiser": self.learner.optimiser.state()}
        arrays = {f"{part}.{name}": array for part, named in parts.items() for name, array in named.items()}
        Checkpoint(self.config.to_dict(), self.data, self.position, arrays).save(self.checkpoint)
        self._rhythm.saved(time.monotonic() - start)

    def _state(self) -> str:
        """What must be the same in every process."""
        at, weights = self.position, self.learner.optimiser.flat.cpu().numpy()
        digest = hashlib.sha256(weights.tobytes()).hexdigest()
        return f"{self.config.to_dict()} {self.data} {at.epoch} {at.step} {digest}"

    def _outcome(self, finished: bool) -> Outcome:
        at = self.position
        keep_best = self.best and (self.config.keep == "best" or self.config.patience is not None)
        return Outcome(self.best if keep_best else self._weights(), at.history, at.best_epoch, finished)


def _stays(cohort: Cohort | TrainingStays, rows: Rows | None) -> TrainingStays:
    if isinstance(cohort, Cohort):
        return HeldStays(cohort, np.arange(len(cohort)) if rows is None else rows)
    return cohort


def _start(stays: TrainingStays, steps: int, layout: EvidenceLayout | None) -> Start:
    categories = stays.vocabularies[0].categories, stays.vocabularies[1].categories
    diagnoses, procedures = stays.counts
    rows = None if layout is None else stays.row_counts(layout)
    return Start(diagnoses, procedures, categories, len(stays), steps, layout, rows)


def _data(stays: TrainingStays, start: Start) -> str:
    """A hash of what is learned from: of the codes and, for a method that takes more, of how often each fact occurs.

    Of a model that is adapted, also of the weights that it starts from.
    """
    found = stays.fingerprint()
    if start.layout is not None and start.row_counts is not None:
        facts = repr(start.layout).encode() + start.row_counts.tobytes()
        found = hashlib.sha256(found.encode() + facts).hexdigest()
    if start.initial is not None:
        weights = b"".join(np.ascontiguousarray(array).tobytes() for array in start.initial.values())
        found = hashlib.sha256(found.encode() + weights).hexdigest()
    return found


def set_threads(threads: int) -> None:
    """Let torch and the compiled kernels share this many threads."""
    import numba

    torch.set_num_threads(threads)
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]


def resolve_device(device: Device) -> Device:
    """The device, if this machine and this torch have it."""
    missing = (device == "cuda" and not torch.cuda.is_available()) or (
        device == "mps" and not torch.backends.mps.is_available()
    )
    if missing:
        raise TrainingError(f"This machine has no {device} device that torch can use.")
    return device
