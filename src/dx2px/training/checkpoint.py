"""The full state of a run in one file: weights, best weights, optimiser, position, history.

One safetensors file: arrays, and a JSON record in its metadata with a checksum of the arrays. It is replaced as a
whole, so a run killed at any moment leaves either the previous checkpoint or the new one.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from dx2px.errors import ModelError
from dx2px.storage import atomic_path
from dx2px.training.history import Epoch, Sums

Array = NDArray[Any]
FORMAT = 2
SAVING_SHARE = 0.05  # the most time that checkpoints within an epoch may take


@dataclass
class Position:
    """How far a run has come: `epoch` whole epochs and `step` steps of the next one."""

    epoch: int = 0
    step: int = 0
    sums: Sums = field(default_factory=Sums)
    history: list[Epoch] = field(default_factory=list)
    best_f1: float = -math.inf
    best_epoch: int = -1


@dataclass(frozen=True)
class Checkpoint:
    """Everything needed to continue a run."""

    config: dict[str, Any]
    data: str  # fingerprint of the stays and of their split
    position: Position
    arrays: dict[str, Array]  # weight.U …, best.U …, optimiser.m.U …

    def part(self, prefix: str) -> dict[str, Array]:
        """The arrays below a prefix."""
        return {k.removeprefix(f"{prefix}."): v for k, v in self.arrays.items() if k.startswith(f"{prefix}.")}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file."""
        arrays = {name: array.copy(order="C") for name, array in self.arrays.items()}
        record = {
            "format": FORMAT,
            "config": self.config,
            "data": self.data,
            "position": asdict(self.position),
            "sha256": _digest(arrays),
        }
        with atomic_path(path) as draft:
            draft.write_bytes(save(arrays, metadata={"dx2px": json.dumps(record)}))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Checkpoint:
        """Read and check what `save` wrote."""
        if not Path(path).is_file():
            raise ModelError(f"There is no checkpoint {os.fspath(path)} to resume from.")
        try:
            with safe_open(path, framework="numpy") as file:
                record = json.loads((file.metadata() or {})["dx2px"])
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
            if record["format"] != FORMAT or record["sha256"] != _digest(arrays):
                raise ValueError
            position = record["position"]
            position["sums"] = Sums(**position["sums"])
            position["history"] = [Epoch(**epoch) for epoch in position["history"]]
            return cls(record["config"], record["data"], Position(**position), arrays)
        except (SafetensorError, KeyError, ValueError, TypeError) as error:
            raise ModelError(f"{os.fspath(path)} is damaged, or not a checkpoint of this version.") from error


class Rhythm:
    """When to write a checkpoint within an epoch: every so many seconds, less often if writing takes long."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self._last, self._took = seconds, time.monotonic(), 0.0

    def due(self) -> bool:
        """Whether it is time."""
        return time.monotonic() - self._last >= max(self.seconds, self._took / SAVING_SHARE)

    def saved(self, took: float) -> None:
        """A checkpoint has just been written, in so many seconds."""
        self._last, self._took = time.monotonic(), took


def _digest(arrays: dict[str, Array]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
