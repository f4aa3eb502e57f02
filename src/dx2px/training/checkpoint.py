"""The full state of a run in one file: weights, best weights, optimiser, position, history.

One safetensors file, arrays beside a JSON record in its metadata, written all or nothing, so a kill at any moment
leaves the checkpoint before or the one after. A checksum of the arrays stands in the record.
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

from dx2px.cohort import Cohort, CohortStream
from dx2px.cohort.file import CODE_LISTS
from dx2px.errors import ModelError
from dx2px.storage import atomic_path
from dx2px.training.history import Epoch, Sums

Array = NDArray[Any]
FORMAT = 1
SAVING_SHARE = 0.05  # of the time, at most, for checkpoints inside an epoch


@dataclass
class Position:
    """Where a run stands: `step` steps of epoch `epoch` are done."""

    epoch: int = 0
    step: int = 0
    sums: Sums = field(default_factory=Sums)
    history: list[Epoch] = field(default_factory=list)
    best_f1: float = -math.inf
    best_epoch: int = -1


@dataclass(frozen=True)
class Checkpoint:
    """All that is needed to go on."""

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
            raise ModelError(f"{os.fspath(path)} is not a whole checkpoint of this version.") from error


class Rhythm:
    """When to write a checkpoint inside an epoch: every so many seconds, but rarely where writing takes long."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self._last, self._took = seconds, time.monotonic(), 0.0

    def due(self) -> bool:
        """Whether it is time."""
        return time.monotonic() - self._last >= max(self.seconds, self._took / SAVING_SHARE)

    def saved(self, took: float) -> None:
        """A checkpoint was written just now."""
        self._last, self._took = time.monotonic(), took


def fingerprint(cohort: Cohort, *rows: Array) -> str:
    """A hash of the stays' codes and of the parts they are split into; no identifiers enter it."""
    digest = hashlib.sha256()
    for vocabulary in (cohort.diagnosis_vocabulary, cohort.procedure_vocabulary):
        digest.update("\n".join(vocabulary).encode())
    for lists in (cohort.diagnoses, cohort.procedures):
        digest.update(lists.offsets.tobytes())
        digest.update(lists.values.tobytes())
    for part in rows:
        digest.update(np.ascontiguousarray(part, dtype=np.int64).tobytes())
    return digest.hexdigest()


def stream_fingerprint(stream: CohortStream) -> str:
    """`fingerprint` of a cohort that is not held: the file is read twice a kind of code."""
    digest = hashlib.sha256()
    for vocabulary in (stream.diagnosis_vocabulary, stream.procedure_vocabulary):
        digest.update("\n".join(vocabulary).encode())
    for name in CODE_LISTS:
        end = np.zeros(1, np.int64)
        digest.update(end.tobytes())
        for lists in stream.groups(name):
            digest.update((lists.offsets[1:] + end).tobytes())
            end += lists.offsets[-1]
        for lists in stream.groups(name):
            digest.update(lists.values.tobytes())
    return digest.hexdigest()


def _digest(arrays: dict[str, Array]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
