"""One training run as the command line does it: with progress, checkpoints, and a clean stop on Ctrl-C."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import typer

from dx2px.cli.console import INTERRUPTED, remark, training_progress, working
from dx2px.errors import InputError

if TYPE_CHECKING:
    from dx2px.training.learned import LearnedModel
    from dx2px.training.run import SplitConfig, Trained

BYTES_PER_STAY = 200  # of a cohort in memory during training (benchmarks/scaling.py)


@dataclass(frozen=True)
class Run:
    """One training run: what is learned, from what, and where it goes."""

    method: str
    cohort: Path
    out: Path
    split: SplitConfig
    seed: int
    threads: int | None
    stream: bool

    def at_once(self, options: dict[str, Any]) -> Trained:
        """Learn a method that does not use the training loop."""
        from dx2px.cohort import Cohort
        from dx2px.methods import recommender
        from dx2px.training.run import learn

        _refuse_processes(self.method)
        stays = Cohort.load(self.cohort)
        with working(self.method) as say:
            model = recommender(self.method, **options)
            return learn(stays, model, self.split, seed=self.seed, threads=self.threads, say=say)

    def in_loop(self, options: dict[str, Any]) -> Trained:
        """Learn a method of the training loop: with checkpoints, a progress bar, and a clean stop on Ctrl-C."""
        from dx2px.methods import recommender
        from dx2px.training.learned import LearnedModel
        from dx2px.training.processes import joined
        from dx2px.training.run import checkpoint_path

        with (
            joined() as processes,
            interruptible() as asked_to_stop,
            training_progress(self.method, processes.first) as hooks,
        ):
            model = recommender(
                self.method,
                hooks=hooks(asked_to_stop),
                checkpoint=checkpoint_path(self.out),
                processes=processes,
                **options,
            )
            assert isinstance(model, LearnedModel)
            if processes.first and options.get("resume") and not checkpoint_path(self.out).exists():
                remark(
                    f"There is no checkpoint {checkpoint_path(self.out)}: training starts from the beginning."
                )
            trained = self._learn(model, processes.first)
        stopped = model.outcome is not None and not model.outcome.finished
        if stopped and processes.first:
            remark(
                f"Stopped. The state is in {checkpoint_path(self.out)}; the same command with --resume continues."
            )
        if stopped or not processes.first:
            raise typer.Exit(INTERRUPTED if stopped else 0)
        return trained

    def _learn(self, model: LearnedModel, first: bool) -> Trained:
        from dx2px.cohort import Cohort
        from dx2px.training.launch import launched
        from dx2px.training.run import learn
        from dx2px.training.streamed import learn_stream

        shared = launched()
        threads = self.threads or (shared.threads if shared else None)
        if self.stream:
            return learn_stream(self.cohort, model, self.split, seed=self.seed, threads=threads)
        if first:
            _advise_stream(self.cohort)
        return learn(Cohort.load(self.cohort), model, self.split, seed=self.seed, threads=threads)


def _advise_stream(cohort: Path) -> None:
    """Suggest --stream if the cohort would fill more than half of the machine's memory."""
    from dx2px.cohort import CohortFile

    needed = CohortFile(cohort).stays * BYTES_PER_STAY
    if hasattr(os, "sysconf") and needed > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2:
        remark(
            f"This cohort takes about {needed / 2**30:.0f} GB of memory; with --stream it is read in pieces."
        )


def _refuse_processes(method: str) -> None:
    """Only methods of the training loop can be learned by several processes; the first process prints the error."""
    from dx2px.training.launch import launched

    launch = launched()
    if launch is None or launch.size == 1:
        return
    if launch.rank:
        raise typer.Exit(1)
    raise InputError(f"The method {method} is learned by a single process: start it without torchrun.")


@contextmanager
def interruptible() -> Iterator[Any]:
    """Yield a function that returns whether Ctrl-C was pressed; a second Ctrl-C ends at once."""
    pressed = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.signal(signal.SIGINT, before)
        remark("Stopping after this step; press Ctrl-C again to end at once.")

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)
