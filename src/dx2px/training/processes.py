"""Several processes that learn one model, as `torchrun` starts them, on one machine or many.

Each takes its share of every batch. Gradients are sums over stays, so the sum over the processes is the gradient of
the whole batch, and every process makes the same update. Nothing else passes between them but the losses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from dx2px.errors import TrainingError
from dx2px.model.adam import FlatAdam
from dx2px.model.lazy_adam import LazyAdam
from dx2px.model.step import StepResult
from dx2px.training.batches import Cut
from dx2px.training.launch import launched


@dataclass(frozen=True)
class Processes:
    """This process among those that learn together. Alone, nothing is exchanged."""

    rank: int = 0
    size: int = 1
    restarts: int = 0  # how often torchrun has started all of them anew

    @property
    def first(self) -> bool:
        """Whether this is the one that writes and speaks."""
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
        """Empty the gradient, which holds rows that other processes' stays touched; one process empties its own."""
        if not self.alone and not isinstance(optimiser, LazyAdam):
            optimiser.gradient.zero_()

    def sum_gradient(self, optimiser: FlatAdam) -> None:
        """Give every process the gradient of the whole batch."""
        if self.alone:
            return
        if isinstance(optimiser, LazyAdam):
            self._sum_rows(optimiser)
        else:
            _all_reduce(optimiser.gradient)

    def sum_result(self, result: StepResult) -> StepResult:
        """What all saw together; the largest marginal error remains each one's own."""
        if self.alone:
            return result
        names = ("stays", "loss_predictive", "loss_transport", "transport_steps", "unconverged")
        total = torch.tensor([getattr(result, name) for name in names], dtype=torch.float64)
        _all_reduce(total)
        summed = {name: type(getattr(result, name))(x) for name, x in zip(names, total.tolist(), strict=True)}
        return replace(result, **summed)

    def any(self, asked: bool) -> bool:
        """Whether at least one process says yes."""
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
        """Refuse to go on where processes differ in what decides their weights."""
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

    def _sum_rows(self, optimiser: LazyAdam) -> None:
        """Only rows that some process touched travel, with the parameters that are not rows."""
        gradients = optimiser.views(optimiser.gradient)
        parts = []
        for name in optimiser.touched:
            marks = torch.zeros(len(gradients[name]), dtype=torch.uint8)
            marks[torch.from_numpy(optimiser.touched[name].astype(np.int64))] = 1
            _all_reduce(marks, dist.ReduceOp.MAX)
            rows = marks.nonzero().flatten()
            optimiser.refresh(name, rows.numpy())
            parts.append((gradients[name], rows))
        rest = [gradient for name, gradient in gradients.items() if name not in optimiser.touched]
        moved = [table[rows].flatten() for table, rows in parts] + [g.flatten() for g in rest]
        together = torch.cat(moved)
        _all_reduce(together)
        pieces = iter(torch.split(together, [piece.numel() for piece in moved]))
        for table, rows in parts:
            table[rows] = next(pieces).view(len(rows), -1)
        for gradient in rest:
            gradient.copy_(next(pieces).view_as(gradient))


ALONE = Processes()


@contextmanager
def joined() -> Iterator[Processes]:
    """The processes that torchrun started together; alone when it did not, or started one."""
    environment = launched()
    if environment is None or environment.size == 1:
        yield Processes(restarts=environment.restarts) if environment else ALONE
        return
    backend = "gloo"
    if torch.cuda.is_available():
        torch.cuda.set_device(environment.local_rank % torch.cuda.device_count())
        backend = "cpu:gloo,cuda:nccl"  # losses travel from the CPU, gradients from where they are
    store, rank, size = next(rendezvous("env://"))
    # After a restart the agent's store still holds the addresses of the dead: each attempt has its own names.
    store = PrefixStore(f"dx2px/attempt-{environment.restarts}", store)
    dist.init_process_group(backend, store=store, rank=rank, world_size=size)
    try:
        yield Processes(rank, size, environment.restarts)
    finally:
        dist.destroy_process_group()


def _all_reduce(x: Tensor, operation: dist.ReduceOp.RedOpType = dist.ReduceOp.SUM) -> None:
    try:
        dist.all_reduce(x, operation)
    except RuntimeError as error:
        raise TrainingError(
            "Another process of this run was lost; torchrun with --max-restarts goes on from the checkpoint."
        ) from error
