"""The command that adapts a model to one's own stays: adapt."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dx2px.cli.console import INTERRUPTED, remark, sleep_while_waiting, working
from dx2px.cli.learning import (
    CohortArgument,
    Fold,
    Folds,
    Half,
    Out,
    SplitBy,
    Threads,
    check_cohorts,
    check_free,
    check_threads,
    save_curves,
)
from dx2px.cli.measuring import show_metrics
from dx2px.cli.models import MODEL
from dx2px.cli.training_run import interruptible

if TYPE_CHECKING:
    from dx2px.trained import Trained
    from dx2px.training.history import Progress

_QUIET = 30.0  # seconds without a line, at most, where the output is no terminal


def adapt(
    cohort: CohortArgument,
    out: Out,
    base: Annotated[
        Path | None,
        typer.Option(
            help=f"The model to start from, of the default method. {MODEL}",
            show_default="the package's model that answers in the system of the cohort's procedures",
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Continue an interrupted run from its checkpoints, if there are any."),
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the model that OUT holds, if there is one.")
    ] = False,
    seed: Annotated[
        int, typer.Option(help="The same seed, settings and machine give the same model.", min=0)
    ] = 0,
    split_by: SplitBy = None,
    folds: Folds = 10,
    fold: Fold = 0,
    threads: Threads = None,
    half: Half = False,
) -> None:
    """Learn from your own stays, starting from a trained model.

    The result knows the base's codes and yours. A few hundred stays are enough to gain from. How far it goes from the
    base is chosen on validation stays; if nothing does better there than the base alone, the base is kept, and you are
    told. Probabilities are fitted to your stays. On Ctrl-C the state is kept in OUT.checkpoint.*; the same command with
    --resume continues from there.

    \b
    Examples:
      dx2px adapt C.parquet --out MODEL
      dx2px adapt C.parquet --out MODEL --base OTHER --overwrite
    """
    sleep_while_waiting()
    check_cohorts(cohort)
    from dx2px.scoring.folder import check_destination

    check_destination(out)
    check_free(out, overwrite, resume and _checkpoints(out))
    check_threads(threads)
    from dx2px.training.run import SplitConfig

    by: Any = split_by.value if split_by else None
    split = SplitConfig(by=by, folds=folds, fold=fold)
    adapted = _run(cohort, base, split, out, resume=resume, seed=seed, threads=threads, half=half)
    adapted.save(out)
    model: Any = adapted.recommender
    model.remove_checkpoints()
    show_metrics(adapted.evaluate("test"), f"{model.base.name} adapted to {cohort.name}, on the test part")
    remark(model.verdict)
    if model.chosen is not None:
        save_curves(out)
    remark(f"The model is in {out}.")


def _run(cohort: Path, base: Path | None, split: Any, out: Path, **options: Any) -> Trained:
    """Adapt, with progress; a run that is stopped says how to go on, and ends the command."""
    from dx2px.cohort import Cohort
    from dx2px.trained import adapt as learn
    from dx2px.training.loop import Hooks
    from dx2px.training.run import checkpoint_path

    with interruptible() as asked_to_stop, working("adapt") as say, _warnings_as_remarks():
        shown = _Shown(say)
        hooks = Hooks(progress=shown.progress, stop=asked_to_stop)
        adapted = learn(
            Cohort.load(cohort),
            base,
            split,
            hooks=hooks,
            checkpoint=checkpoint_path(out),
            say=shown.say,
            **options,
        )
    outcome = getattr(adapted.recommender, "outcome", None)
    if outcome is None or not outcome.finished:
        remark(
            f"Stopped. The state is in {checkpoint_path(out)}.*; the same command with --resume continues."
        )
        raise typer.Exit(INTERRUPTED)
    return adapted


class _Shown:
    """What is being done, as a line of text; on a terminal how far it has come, elsewhere only now and then."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show, self._text, self._last = show, "", monotonic()
        self._moves = sys.stderr.isatty()

    def say(self, text: str) -> None:
        self._text, self._last = text, monotonic()
        self._show(text)

    def progress(self, at: Progress) -> None:
        if self._moves or monotonic() - self._last >= _QUIET:
            speed = f"{at.stays_per_second:,.0f} stays/s, {at.seconds_left:.0f} s left"
            self._last = monotonic()
            self._show(f"{self._text}; epoch {at.epoch} of {at.epochs}, {speed}")


@contextmanager
def _warnings_as_remarks() -> Iterator[None]:
    """A warning is a sentence to the user, without the line of code that gave it."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_, **__: remark(f"Warning: {message}")
        yield


def _checkpoints(out: Path) -> bool:
    """Whether an interrupted run has left its state."""
    from dx2px.methods.coupling.adapted import checkpoints
    from dx2px.training.run import checkpoint_path

    return bool(checkpoints(checkpoint_path(out)))
