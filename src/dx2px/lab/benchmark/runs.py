"""Running the jobs, each in a process of its own: a run that fails or dies costs only itself."""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess

from dx2px.cohort import Cohort
from dx2px.cohort.fingerprint import fingerprint
from dx2px.errors import InputError
from dx2px.lab.benchmark.plan import Job
from dx2px.lab.benchmark.progress import Board, Progress
from dx2px.lab.benchmark.settings import method_with
from dx2px.lab.benchmark.store import RunStore
from dx2px.scoring.methods import declare
from dx2px.storage import write_text
from dx2px.training.run import learn
from dx2px.version import __version__

BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@dataclass(frozen=True)
class Failure:
    """A run that failed, and why."""

    job: Job
    reason: str


def run_all(jobs: Sequence[Job], workers: int, tell: Callable[[Progress], None]) -> list[Failure]:
    """Run the jobs that have no result yet, `workers` at a time; return those that failed."""
    with ExitStack() as stores:
        for folder in dict.fromkeys(job.folder for job in jobs):
            stores.enter_context(RunStore(folder).writing())
        return _run_missing(jobs, workers, Board(jobs, workers, tell))


def _run_missing(jobs: Sequence[Job], workers: int, board: Board) -> list[Failure]:
    waiting = [job for job in jobs if job.place not in board.done]
    threads = max(1, (os.cpu_count() or 1) // workers)
    failures: list[Failure] = []
    running: dict[SpawnProcess, Job] = {}
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                job = waiting.pop(0)
                running[_start(job, threads)] = job
                board.start(job)
            board.show()
            ended = wait([process.sentinel for process in running])
            for process in [process for process in running if process.sentinel in ended]:
                process.join()
                job = running.pop(process)
                failure = _failure(job, process.exitcode)
                failures += [failure] if failure else []
                board.end(job, failed=failure is not None)
    finally:
        for process in running:
            process.terminate()
    board.show()
    return failures


def _failure(job: Job, exitcode: int | None) -> Failure | None:
    """Add the result of a run that has ended to the kept ones; where there is none, say why."""
    job.store.add_pending()
    if job.result() is not None:
        return None
    file = job.store.reason_file(job.id)
    if not file.exists():
        return Failure(job, _death(exitcode or 0))
    reason = file.read_text(encoding="utf-8").strip()
    file.unlink()
    return Failure(job, reason)


def _death(exitcode: int) -> str:
    """Why a run has no result, where its process left no reason."""
    if exitcode < 0:
        return f"its process was ended by signal {-exitcode} (killed, or out of memory)"
    if exitcode > 0:
        return (
            f"its process ended with code {exitcode} before the run began; can it import the method's module?"
        )
    return "the settings that the method reports are not those that it started with"


def _start(job: Job, threads: int) -> SpawnProcess:
    """A fresh process for each run: its memory is given back, and if it dies, no other run dies with it."""
    process = multiprocessing.get_context("spawn").Process(target=_attempt, args=(job, threads))
    with _blas_threads(threads):
        process.start()
    return process


@contextmanager
def _blas_threads(threads: int) -> Iterator[None]:
    """Set what numpy's library reads when a process starts, unless the user has; torch and numba are set later."""
    ours = [name for name in BLAS if name not in os.environ]
    os.environ.update(dict.fromkeys(ours, str(threads)))
    try:
        yield
    finally:
        for name in ours:
            del os.environ[name]


def _attempt(job: Job, threads: int) -> None:
    threading.Thread(target=_follow_parent, daemon=True).start()
    try:
        declare(job.declaration)  # one from outside the package is not known here yet
        run_job(job, threads)
    except Exception as error:  # whatever it is, only this run fails, and the user reads why
        write_text(job.store.reason_file(job.id), traceback.format_exception_only(error)[-1])
        sys.exit(1)


def _follow_parent() -> None:
    """End with the benchmark, however it ends: one that is killed must leave no process behind."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)  # at any moment: a result is written as a whole or not at all


def run_job(job: Job, threads: int) -> None:
    """Learn, test, and leave the result to be added to the kept runs."""
    cohort = Cohort.load(job.cohort.path)
    data = fingerprint(cohort)
    if data != job.cohort.data:
        raise InputError(f"{job.cohort.path} is no longer the cohort that the benchmark was planned for.")
    start, cpu_start = time.perf_counter(), time.process_time()
    trained = learn(cohort, method_with(job.method, job.model), job.split, seed=job.seed, threads=threads)
    fit_seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    test = trained.evaluate("test")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    record = {
        "key": job.key,
        "cohort": job.name,
        "data": data,
        "sizes": [len(cohort), len(cohort.diagnosis_vocabulary), len(cohort.procedure_vocabulary)],
        "training_stays": len(trained.lessons),
        "version": __version__,
        "settings": trained.recommender.settings(),
        "fit_seconds": round(fit_seconds, 2),
        "cpu_seconds": round(cpu_seconds, 2),  # of all threads: does not depend on what else the machine does
        "threads": threads,
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit),
        "validation": trained.evaluate("validation").to_dict(),
        "test": test.to_dict(),
    }
    job.store.leave(record, test)
