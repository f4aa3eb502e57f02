"""Running the jobs: each in a process of its own, results written all or nothing, a failure costing only itself."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess

import numpy as np

from dx2px.cohort import Cohort
from dx2px.evaluation.benchmark.plan import Job
from dx2px.evaluation.methods import VARIANTS, method_named
from dx2px.evaluation.paper import PaperModel
from dx2px.evaluation.run import learn
from dx2px.model.network import ModelConfig
from dx2px.storage import atomic_path, write_text
from dx2px.training.checkpoint import fingerprint
from dx2px.training.config import TrainingConfig
from dx2px.training.recommender import Recommender
from dx2px.version import __version__


@dataclass(frozen=True)
class Progress:
    """How a benchmark stands."""

    total: int
    done: int
    failed: int
    running: tuple[str, ...]
    seconds_left: float | None

    @property
    def line(self) -> str:
        left = f", about {max(self.seconds_left, 60) / 60:.0f} min left" if self.seconds_left else ""
        failed = f", {self.failed} failed" if self.failed else ""
        now = f"; running {', '.join(self.running)}" if self.running else ""
        return f"{self.done} of {self.total} runs done{failed}{left}{now}"


def run_all(jobs: Sequence[Job], workers: int, tell: Callable[[Progress], None]) -> list[Job]:
    """Run the jobs that have no result yet, `workers` at a time; give back those that failed."""
    waiting = [job for job in jobs if job.result() is None]
    board = _Board(len(jobs), len(jobs) - len(waiting), tell)
    threads = max(1, (os.cpu_count() or 1) // workers)
    failed: list[Job] = []
    running: dict[SpawnProcess, Job] = {}
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                job = waiting.pop(0)
                running[_start(job, threads)] = job
            board.show(list(running.values()))
            ended = wait([process.sentinel for process in running])
            for process in [process for process in running if process.sentinel in ended]:
                process.join()
                job = running.pop(process)
                succeeded = job.result() is not None
                if not succeeded:
                    _note_death(job, process.exitcode)
                    failed.append(job)
                board.count(failed=not succeeded)
    finally:
        for process in running:
            process.terminate()
    board.show([])
    return failed


def _start(job: Job, threads: int) -> SpawnProcess:
    """A fresh process a run: memory goes back after each, and one that dies takes no other with it."""
    job.failure.unlink(missing_ok=True)
    process = multiprocessing.get_context("spawn").Process(target=_attempt, args=(job, threads))
    process.start()
    return process


def _attempt(job: Job, threads: int) -> None:
    try:
        run_job(job, threads)
    except Exception as error:  # whatever it was, it is one run's failure and is shown as such
        write_text(job.failure, traceback.format_exception_only(error)[-1].strip() + "\n")
        sys.exit(1)


def _note_death(job: Job, exitcode: int | None) -> None:
    if not job.failure.exists():
        write_text(job.failure, f"the process ended with code {exitcode} (killed, or out of memory)\n")


def run_job(job: Job, threads: int) -> None:
    """Learn, test, and write the result."""
    cohort = Cohort.load(job.cohort)
    start, cpu_start = time.perf_counter(), time.process_time()
    trained = learn(cohort, _method(job), job.split, seed=job.seed, threads=threads)
    fit_seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    test = trained.evaluate("test")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    record = {
        "key": job.key(),
        "cohort": job.name,
        "data": fingerprint(cohort),
        "sizes": [len(cohort), len(cohort.diagnosis_vocabulary), len(cohort.procedure_vocabulary)],
        "version": __version__,
        "settings": trained.recommender.settings(),
        "fit_seconds": round(fit_seconds, 2),
        "cpu_seconds": round(cpu_seconds, 2),  # of all threads: what a busy machine does not change
        "threads": threads,
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit),
        "validation": trained.evaluate("validation").to_dict(),
        "test": test.to_dict(),
    }
    with atomic_path(job.details) as draft, draft.open("wb") as stream:
        hits, recommended, recorded = (
            a.astype(np.uint8) for a in (test.hits, test.recommended, test.recorded)
        )
        np.savez_compressed(stream, hits=hits, recommended=recommended, recorded=recorded)
    write_text(job.file, json.dumps(record, indent=1, ensure_ascii=False))
    job.failure.unlink(missing_ok=True)


def _method(job: Job) -> Recommender:
    if job.method not in VARIANTS or not job.model:
        return method_named(job.method)
    config = TrainingConfig(model=replace(ModelConfig(variant=job.method), **job.model))
    return PaperModel(config)


class _Board:
    """Counts runs and estimates the time left from the runs of this session."""

    def __init__(self, total: int, done: int, tell: Callable[[Progress], None]) -> None:
        self.total, self.done, self.failed, self.tell = total, done, 0, tell
        self.start, self.here = time.perf_counter(), 0

    def count(self, failed: bool) -> None:
        self.failed += failed
        self.done += not failed
        self.here += 1

    def show(self, running: list[Job]) -> None:
        left = self.total - self.done - self.failed
        pace = (time.perf_counter() - self.start) / self.here if self.here else None
        names = tuple(f"{job.name} {job.method} fold {job.split.fold}" for job in running)
        self.tell(Progress(self.total, self.done, self.failed, names, None if pace is None else pace * left))
