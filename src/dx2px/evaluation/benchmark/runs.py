"""Running the jobs: each in a process of its own, results written all or nothing, a failure costing only itself."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess

import numpy as np

from dx2px.cohort import Cohort
from dx2px.errors import InputError
from dx2px.evaluation.benchmark.plan import Job
from dx2px.evaluation.benchmark.progress import Board, Progress
from dx2px.evaluation.benchmark.settings import method_with
from dx2px.evaluation.run import learn
from dx2px.storage import atomic_path, write_text
from dx2px.training.checkpoint import fingerprint
from dx2px.version import __version__

BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def run_all(jobs: Sequence[Job], workers: int, tell: Callable[[Progress], None]) -> list[Job]:
    """Run the jobs that have no result yet, `workers` at a time; give back those that failed."""
    board = Board(jobs, workers, tell)
    waiting = [job for job in jobs if job.file not in board.done]
    threads = max(1, (os.cpu_count() or 1) // workers)
    failed: list[Job] = []
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
                succeeded = job.result() is not None
                if not succeeded:
                    _note_death(job, process.exitcode)
                    failed.append(job)
                board.end(job, failed=not succeeded)
    finally:
        for process in running:
            process.terminate()
    board.show()
    return failed


def _start(job: Job, threads: int) -> SpawnProcess:
    """A fresh process a run: memory goes back after each, and one that dies takes no other with it."""
    job.failure.unlink(missing_ok=True)
    process = multiprocessing.get_context("spawn").Process(target=_attempt, args=(job, threads))
    with _blas_threads(threads):
        process.start()
    return process


@contextmanager
def _blas_threads(threads: int) -> Iterator[None]:
    """What numpy's library reads as a process starts, unless the user has set it; torch and numba are told later."""
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
        run_job(job, threads)
    except Exception as error:  # whatever it was, it is one run's failure and is shown as such
        write_text(job.failure, traceback.format_exception_only(error)[-1].strip() + "\n")
        sys.exit(1)


def _follow_parent() -> None:
    """End with the benchmark, however it ends: a killed one must not leave runs behind it."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)  # results are written all or nothing


def _note_death(job: Job, exitcode: int | None) -> None:
    if not job.failure.exists():
        write_text(job.failure, f"the process ended with code {exitcode} (killed, or out of memory)\n")


def run_job(job: Job, threads: int) -> None:
    """Learn, test, and write the result."""
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
        "key": job.key(),
        "cohort": job.name,
        "data": data,
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
    job.file.unlink(missing_ok=True)  # of another cohort or other settings: it must not stand beside new hits
    with atomic_path(job.details) as draft, draft.open("wb") as stream:
        hits, recommended, recorded = (
            a.astype(np.uint8) for a in (test.hits, test.recommended, test.recorded)
        )
        np.savez_compressed(stream, hits=hits, recommended=recommended, recorded=recorded)
    write_text(job.file, json.dumps(record, indent=1, ensure_ascii=False))
    job.failure.unlink(missing_ok=True)
