"""The figures of workers that serve together: each keeps its own in files, and any of them shows the sums."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from prometheus_client import Metric, values
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.process_collector import ProcessCollector

_PROCESS = ".process"  # ends the name of an empty file, which tells a worker's place and its process
_STARTED = "process_start_time_seconds"


class SharedFigures:
    """A folder of figures. Counts go by the place of a worker: the next worker at a place counts on.

    Made before the workers are, because it changes where the library keeps what is counted from then on.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._place = folder, "supervisor"
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
        values.ValueClass = values.MultiProcessValue(lambda: self._place)  # type: ignore[no-untyped-call]

    def join(self, place: int) -> None:
        """Count as the worker at this place from now on."""
        self._place = str(place)
        (self._folder / f"{place}.{os.getpid()}{_PROCESS}").touch()

    def leave(self, place: int) -> None:
        """Drop what a worker was doing when it ended; what it had done still counts."""
        mark_process_dead(place, str(self._folder))  # type: ignore[no-untyped-call]
        for known in self._folder.glob(f"{place}.*{_PROCESS}"):
            known.unlink()

    def collect(self) -> Iterator[Metric]:
        """The sums over all workers, as the library wants them."""
        yield from MultiProcessCollector(None, str(self._folder)).collect()  # type: ignore[no-untyped-call]
        yield from self._processes()

    def _processes(self) -> Iterator[Metric]:
        """Processor time, memory and files of the workers together, and when the first of them started."""
        together: dict[str, Metric] = {}
        for path in self._folder.glob(f"*{_PROCESS}"):
            process = path.name.split(".")[1]
            for figure in ProcessCollector(pid=partial(str, process), registry=None).collect():
                _add(together, figure)
        yield from together.values()


def _add(together: dict[str, Metric], figure: Metric) -> None:
    known = together.setdefault(figure.name, figure)
    if known is not figure:
        one, other = known.samples[0], figure.samples[0]
        join = min if figure.name == _STARTED else operator.add
        known.samples = [one._replace(value=join(one.value, other.value))]
