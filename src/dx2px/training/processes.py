"""Several processes that learn one model, as `torchrun` starts them, on one machine or many.

Each process takes its share of every batch. Gradients are sums over stays, so their sum over the processes is the
gradient of the whole batch, and every process makes the same update. Beside gradients, only the losses are exchanged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from dx2px.errors import TrainingError
from dx2px.training.adam import FlatAdam
from dx2px.training.batches import Cut
from dx2px.training.launch import launched
from dx2px.training.step import StepResult


@dataclass(frozen=True)
class Processes:
    """This process among those that learn together. Alone, it exchanges nothing."""

    rank: int = 0
    size: int = 1
    restarts: int = 0  # how often torchrun has restarted all of them

    @property
    def first(self) -> bool:
        """Whether this is the process that validates, writes files and reports."""
        return self.rank == 0

    @property
    def alone(self) -> bool:
        """Whether there is no other."""
        return self.size == 1

    @property
    def cut(self) -> Cut:
        """This process's share of each batch."""
        return Cut(self.rank, self.size)

    def prepare(self, optimiser: FlatAdam) -> None:
        """Clear the gradient before a step: it holds other processes' rows, which the learner does not know of."""
        if not self.alone:
            optimiser.gradient.zero_()

    def sum_gradient(self, optimiser: FlatAdam) -> None:
        """Give every process the gradient of the whole batch."""
        if not self.alone:
            _all_reduce(optimiser.gradient)

    def sum_result(self, result: StepResult) -> StepResult:
        """The result of the whole batch. Every process has the same measures, also one without stays."""
        if self.alone:
            return result
        total = torch.tensor([result.stays, result.loss, *result.measures.values()], dtype=torch.float64)
        _all_reduce(total)
        stays, loss, *measures = total.tolist()
        return StepResult(int(stays), loss, dict(zip(result.measures, measures, strict=True)))

    def any(self, asked: bool) -> bool:
        """Whether the answer is yes in at least one process."""
        if self.alone:
            return asked
        answer = torch.tensor([int(asked)])
        _all_reduce(answer)
        return bool(answer.item())

    def of_first(self, number: float) -> float:
        """The first process's number, for all."""
        if self.alone:
            return number
        held = torch.tensor([number if self.first else 0.0], dtype=torch.float64)
        _all_reduce(held)
        return float(held.item())

    def check_same(self, state: str) -> None:
        """Refuse to continue if processes differ in what decides their weights."""
        if self.alone:
            return
        own = torch.from_numpy(np.frombuffer(hashlib.sha256(state.encode()).digest(), np.uint8).copy())
        all_of_them = [torch.empty_like(own) for _ in range(self.size)]
        dist.all_gather(all_of_them, own)
        if any(not torch.equal(own, other) for other in all_of_them):
            raise TrainingError(
                "The processes do not see the same cohort, settings and checkpoint: "
                "give all of them the same files, in a folder that they share."
            )


ALONE = Processes()


@contextmanager
def joined() -> Iterator[Processes]:
    """The processes that torchrun started; alone if it started only one, or none."""
    environment = launched()
    if environment is None or environment.size == 1:
        yield Processes(restarts=environment.restarts) if environment else ALONE
        return
    backend = "gloo"
    if torch.cuda.is_available():
        torch.cuda.set_device(environment.local_rank % torch.cuda.device_count())
        backend = "cpu:gloo,cuda:nccl"  # losses travel from the CPU, gradients from where they are
    store, rank, size = next(rendezvous("env://"))
    # After a restart the agent's store still holds the addresses of the old processes, so each attempt uses new keys.
    store = PrefixStore(f"dx2px/attempt-{environment.restarts}", store)
    dist.init_process_group(backend, store=store, rank=rank, world_size=size)
    try:
        yield Processes(rank, size, environment.restarts)
    finally:
        dist.destroy_process_group()


def _all_reduce(x: Tensor) -> None:
    """Sum over the processes, in place."""
    try:
        dist.all_reduce(x)
    except RuntimeError as error:
        raise TrainingError(
            "Another process of this run was lost; torchrun with --max-restarts goes on from the checkpoint."
        ) from error
