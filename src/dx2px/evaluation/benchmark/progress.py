"""How a benchmark stands: what is done, what runs, how long the rest takes by each method's own durations."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dx2px.evaluation.benchmark.durations import Durations
from dx2px.evaluation.benchmark.plan import Job


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
    bounded: bool  # False: some methods that wait have never run, so more time than that is left
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
    """A duration as people say it; never less than a minute."""
    minutes = max(seconds, 60) / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


class Board:
    """Counts the runs of a session and tells how they stand."""

    def __init__(self, jobs: Sequence[Job], workers: int, tell: Callable[[Progress], None]) -> None:
        self.jobs, self.workers, self.tell = jobs, workers, tell
        self.done = {job.file for job in jobs if job.result() is not None}
        self.failed: set[object] = set()
        self.started: dict[object, float] = {}
        self.durations = Durations.of(jobs, "fit_seconds")

    def start(self, job: Job) -> None:
        """A run begins."""
        self.started[job.file] = time.monotonic()

    def end(self, job: Job, failed: bool) -> None:
        """A run is over."""
        took = time.monotonic() - self.started.pop(job.file)
        (self.failed if failed else self.done).add(job.file)
        if not failed:
            self.durations.add(job, took)

    def show(self) -> None:
        """Tell how it stands."""
        now = time.monotonic()
        running = [job for job in self.jobs if job.file in self.started]
        seconds, bounded = self._left(now)
        self.tell(
            Progress(
                total=len(self.jobs),
                done=len(self.done),
                failed=len(self.failed),
                running=tuple(Running(_title(job), self.started[job.file]) for job in running),
                seconds_left=seconds,
                bounded=bounded,
                tallies=self._tallies(),
                at=now,
            )
        )

    def _left(self, now: float) -> tuple[float | None, bool]:
        """Seconds until all is done, the workers sharing the work; and whether every duration was known."""
        left = [job for job in self.jobs if job.file not in self.done and job.file not in self.failed]
        needs = []
        for job in left:
            expected = self.durations.expected(job)
            if expected is not None:
                begun = now - self.started.get(job.file, now)
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
                *(sum(job.file in chosen for job in some) for chosen in self._states),
            )
            for (cohort, label), some in groups.items()
        )

    @property
    def _states(self) -> tuple[set[object], set[object], set[object]]:
        return set(self.done), self.failed, set(self.started)


def _title(job: Job) -> str:
    return f"{job.name} {job.label} fold {job.split.fold}"
