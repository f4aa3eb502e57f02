"""What torchrun passes to the processes that it starts. Without torch: the command line asks this first."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Launch:
    """This process among those that torchrun started."""

    rank: int
    size: int
    local_rank: int
    local_size: int  # processes on this machine
    restarts: int  # how often torchrun has restarted all of them

    @property
    def threads(self) -> int:
        """A fair share of this machine's cores."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return max(1, cores // self.local_size)


def launched() -> Launch | None:
    """None unless torchrun started this process."""
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        return None
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT")
    return Launch(*(int(os.environ[name]) for name in names))
