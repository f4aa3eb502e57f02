"""How long a run will take: what runs of the same method took, those of this session before the kept ones."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from statistics import median

from dx2px.lab.benchmark.plan import Job


class Durations:
    """Seconds by cohort, method and settings. Where none are known, the nearest known ones count."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, list[float]] = {}
        self._seen: dict[Hashable, list[float]] = {}

    @classmethod
    def of(cls, jobs: Iterable[Job], field: str) -> Durations:
        """Those of the kept results: `fit_seconds` by the clock, or `cpu_seconds`, which older runs lack."""
        durations = cls()
        for job in jobs:
            result = job.result()
            if result is not None and field in result:
                _note(durations._kept, job, result[field])
        return durations

    def add(self, job: Job, seconds: float) -> None:
        """A run of this session, on this machine and under its present load: it counts before all kept ones."""
        _note(self._seen, job, seconds)

    def expected(self, job: Job) -> float | None:
        """The median of the method's runs on the cohort, else on any cohort; None where it has none at all."""
        for key in _keys(job):
            for known in (self._seen, self._kept):
                if key in known:
                    return median(known[key])
        return None

    def measured(self, job: Job) -> float | None:
        """The median of runs with the same cohort, method and settings, and nothing else."""
        found = self._kept.get(_keys(job)[0])
        return median(found) if found else None


def _keys(job: Job) -> Sequence[Hashable]:
    """From the very same kind of run to the same method anywhere."""
    settings = tuple(sorted(job.model.items()))
    return (job.name, job.method, settings), (job.name, job.method), (job.method,)


def _note(known: dict[Hashable, list[float]], job: Job, seconds: float) -> None:
    for key in _keys(job):
        known.setdefault(key, []).append(seconds)
