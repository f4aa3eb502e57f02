"""The progress of a benchmark: what is done, what is running, and how long the rest will take."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dx2px.lab.benchmark.durations import Durations
from dx2px.lab.benchmark.plan import Job


@dataclass(frozen=True)
class Tally:
    """The runs of one method on one cohort."""

    cohort: str
    method: str  # with its settings, in a sweep
    total: int
    done: int
    failed: int
    running: int


@dataclass(frozen=True)
class Running:
    """A run under way, and since when by `time.monotonic`."""

    name: str
    since: float


@dataclass(frozen=True)
class Progress:
    """The state at one moment, `at` by `time.monotonic`."""

    total: int
    done: int
    failed: int
    running: tuple[Running, ...]
    seconds_left: float | None  # None where nothing is left, or no method's duration is known
    bounded: bool  # False: some waiting methods have never run, so the rest takes longer than that
    tallies: tuple[Tally, ...]
    at: float

    @property
    def line(self) -> str:
        """All of it in one line."""
        now = f"; running {', '.join(run.name for run in self.running)}" if self.running else ""
        return self.summary() + now

    def summary(self, later: float = 0.0) -> str:
        """Counts and time left, `later` seconds after this state was seen."""
        failed = f", {self.failed} failed" if self.failed else ""
        left = ""
        if self.seconds_left is not None:
            word = "about" if self.bounded else "at least"
            left = f", {word} {spoken(self.seconds_left - later)} left"
        return f"{self.done} of {self.total} runs done{failed}{left}"


def spoken(seconds: float) -> str:
    """A duration in words, down to nothing."""
    if seconds < 90:
        return f"{max(seconds, 0):.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


class Board:
    """Counts the runs of a session and reports the progress."""

    def __init__(self, jobs: Sequence[Job], workers: int, tell: Callable[[Progress], None]) -> None:
        self.jobs, self.workers, self.tell = jobs, workers, tell
        self.done = {job.place for job in jobs if job.result() is not None}
        self.failed: set[object] = set()
        self.started: dict[object, float] = {}
        self.durations = Durations.of(jobs, "fit_seconds")

    def start(self, job: Job) -> None:
        """A run begins."""
        self.started[job.place] = time.monotonic()

    def end(self, job: Job, failed: bool) -> None:
        """A run is over."""
        took = time.monotonic() - self.started.pop(job.place)
        (self.failed if failed else self.done).add(job.place)
        if not failed:
            self.durations.add(job, took)

    def show(self) -> None:
        """Report the progress."""
        now = time.monotonic()
        running = [job for job in self.jobs if job.place in self.started]
        seconds, bounded = self._left(now)
        self.tell(
            Progress(
                total=len(self.jobs),
                done=len(self.done),
                failed=len(self.failed),
                running=tuple(Running(job.title, self.started[job.place]) for job in running),
                seconds_left=seconds,
                bounded=bounded,
                tallies=self._tallies(),
                at=now,
            )
        )

    def _left(self, now: float) -> tuple[float | None, bool]:
        """Seconds until all is done, the workers sharing the work; and whether every duration was known."""
        left = [job for job in self.jobs if job.place not in self.done and job.place not in self.failed]
        needs = []
        for job in left:
            expected = self.durations.expected(job)
            if expected is not None:
                begun = now - self.started.get(job.place, now)
                needs.append(max(expected - begun, 0.0))
        if not needs:
            return None, not left
        return max(sum(needs) / self.workers, *needs), len(needs) == len(left)

    def _tallies(self) -> tuple[Tally, ...]:
        groups: dict[tuple[str, str], list[Job]] = {}
        for job in self.jobs:
            groups.setdefault((job.name, job.label), []).append(job)
        return tuple(
            Tally(
                cohort,
                label,
                len(some),
                *(sum(job.place in chosen for job in some) for chosen in self._states),
            )
            for (cohort, label), some in groups.items()
        )

    @property
    def _states(self) -> tuple[set[object], set[object], set[object]]:
        return set(self.done), self.failed, set(self.started)
