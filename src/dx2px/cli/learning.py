"""The command that makes a model: train."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from dx2px.cli.console import (
    INTERRUPTED,
    refuse_options,
    remark,
    sleep_while_waiting,
    training_progress,
    working,
)
from dx2px.cli.measuring import show_metrics
from dx2px.errors import InputError
from dx2px.words import counted

MethodName = StrEnum(
    "MethodName",
    [
        "popularity",
        "cooccurrence",
        "word2vec",
        "bpr",
        "dwl",
        "gwl",
        "linear",
        "mlp",
        "e+pooling",
        "e+sa",
        "e+ma",
        "e+sa+ma",
        "coupling",
    ],
)
SplitName = StrEnum("SplitName", ["patient", "stay"])
DeviceName = StrEnum("DeviceName", ["cpu", "cuda", "mps"])
KeepName = StrEnum("KeepName", ["last", "best"])
BYTES_A_STAY = 200  # of a cohort in memory while it teaches (benchmarks/scaling.py)


def check_cohorts(*files: Path) -> None:
    """Every cohort can be opened: better said now than after the seconds that learning takes to load, or the hours."""
    from dx2px.cohort import CohortFile

    for path in files:
        CohortFile(path)


def _take_recipe(context: typer.Context, recipe: Path | None) -> Path | None:
    """Let the recipe's settings be the defaults of the options that are not given."""
    if recipe is not None:
        from dx2px.evaluation.recipe import training_options

        names = {parameter.name for parameter in context.command.params}
        context.default_map = training_options(recipe, names - {"cohort", "out", "recipe"})
    return recipe


def train(
    context: typer.Context,
    cohort: Annotated[Path, typer.Argument(help="A cohort file.")],
    out: Annotated[Path, typer.Option(help="The model folder to write.")],
    method: Annotated[MethodName, typer.Option(help="What to learn.")] = MethodName["coupling"],
    dim: Annotated[int, typer.Option(help="Dimension M of the vectors.", max=10_000)] = 200,
    heads: Annotated[int, typer.Option(help="Heads K of the paper's self-attention.", max=1000)] = 8,
    alpha: Annotated[float, typer.Option(help="Weight of the paper's transport loss.")] = 0.1,
    diagnosis_penalty: Annotated[
        float | None,
        typer.Option(help="Price of leaving the diagnoses' marginal of the paper's transport; 0 lets it go."),
    ] = None,
    procedure_penalty: Annotated[
        float | None, typer.Option(help="The same of the procedures' marginal [default: both are exact].")
    ] = None,
    entropy: Annotated[
        float, typer.Option(help="Entropy of a transport whose marginals are not both exact.")
    ] = 0.05,
    epochs: Annotated[
        int | None, typer.Option(help="Passes over the training stays [default: 12; paper's models 25].")
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Stays a step.")] = 300,
    lr: Annotated[
        float | None, typer.Option(help="Learning rate of Adam [default: 0.004; paper's models 0.001].")
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Fixes the start, the order of the stays and all draws.", min=0)
    ] = 0,
    split_by: Annotated[
        SplitName | None,
        typer.Option(help="What the 80/20 split keeps whole [default: patient where known]."),
    ] = None,
    folds: Annotated[int, typer.Option(help="Folds inside the 80 %.")] = 10,
    fold: Annotated[int, typer.Option(help="The fold that validates.")] = 0,
    patience: Annotated[
        int | None, typer.Option(help="Stop after so many epochs without a better F1@5; keeps the best.")
    ] = None,
    keep: Annotated[KeepName, typer.Option(help="Weights of the last epoch, or of the best.")] = KeepName[
        "last"
    ],
    device: Annotated[DeviceName, typer.Option(help="Where to compute.")] = DeviceName["cpu"],
    threads: Annotated[int | None, typer.Option(help="Threads to use [default: all cores].", min=1)] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint beside OUT.")] = False,
    save_every: Annotated[
        float, typer.Option(help="Seconds between checkpoints inside an epoch.", min=0.0)
    ] = 60.0,
    stream: Annotated[
        bool,
        typer.Option("--stream", help="Read the cohort by row groups: for more stays than memory holds."),
    ] = False,
    half: Annotated[bool, typer.Option("--half", help="Keep the weights in half precision.")] = False,
    recipe: Annotated[
        Path | None,
        typer.Option(
            help="A TOML file whose [train] table holds these options; the command line overrides it.",
            callback=_take_recipe,
            is_eager=True,
        ),
    ] = None,
) -> None:
    """Learn a model from a cohort; print its test numbers, write the folder and its loss curve.

    OUT.checkpoint, beside the folder, holds the full state after each epoch and every minute; Ctrl-C writes it too, and
    --resume goes on from it to the same weights as an undisturbed run. Started by torchrun, several processes learn
    one model together, and go on from the checkpoint when one is lost (docs/scale.md).
    """
    sleep_while_waiting()
    check_cohorts(cohort)
    from dx2px.cohort import Cohort
    from dx2px.evaluation.methods import LEARNED, learned_by, loop_settings, method_named
    from dx2px.evaluation.recipe import card_notes
    from dx2px.evaluation.run import SplitConfig, checkpoint_path, learn
    from dx2px.evaluation.streamed import learn_stream
    from dx2px.model.folder import check_destination
    from dx2px.training.launch import launched
    from dx2px.training.processes import joined

    check_destination(out)
    _check_threads(threads)
    _refuse_options(context, method.value)
    if diagnosis_penalty is None and procedure_penalty is None:
        refuse_options(_given(context, "entropy"), "a transport whose marginals are exact")
    if patience is not None and keep.value == "last":
        refuse_options(_given(context, "keep"), "training with patience, which keeps the best epoch")
    by: Any = split_by.value if split_by else None
    split = SplitConfig(by=by, folds=folds, fold=fold)
    if method.value not in LEARNED:
        _refuse_company(method.value)
        stays = Cohort.load(cohort)
        with working(method.value) as say:
            trained = learn(stays, method_named(method.value), split, seed=seed, threads=threads, say=say)
    else:
        training = loop_settings(
            method.value,
            dim=dim,
            heads=heads,
            alpha=alpha,
            lr=lr,
            epochs=epochs,
            batch_size=batch_size,
            patience=patience,
            keep=keep.value,
            seed=seed,
            transport=_transport(diagnosis_penalty, procedure_penalty, entropy),
        )
        with (
            joined() as processes,
            _interruptible() as asked_to_stop,
            training_progress(method.value, training.epochs, processes.first) as hooks,
        ):
            model = learned_by(
                training,
                hooks=hooks(asked_to_stop),
                checkpoint=checkpoint_path(out),
                resume=resume,
                device=device.value,
                half=half,
                save_every=save_every,
                processes=processes,
            )
            shared = launched()
            threads = threads or (shared.threads if shared else None)
            if stream:
                trained = learn_stream(cohort, model, split, seed=seed, threads=threads)
            else:
                if processes.first:
                    _advise_stream(cohort)
                trained = learn(Cohort.load(cohort), model, split, seed=seed, threads=threads)
        stopped = model.outcome is not None and not model.outcome.finished
        if stopped and processes.first:
            remark(
                f"Stopped. The state is in {checkpoint_path(out)}; the same command with --resume goes on."
            )
        if stopped or not processes.first:
            raise typer.Exit(INTERRUPTED if stopped else 0)
    if recipe is not None:
        trained = replace(trained, notes=card_notes(recipe))
    trained.save(out)
    show_metrics(trained.evaluate("test"), f"{method.value} on the test part")
    if method.value in LEARNED:
        _save_curves(out)
    remark(f"The model is in {out}.")


def _check_threads(threads: int | None) -> None:
    cores = os.cpu_count() or 1
    if threads is not None and threads > cores:
        raise InputError(f"--threads {threads}: this machine has {counted(cores, 'core')}.")


def _transport(diagnosis_penalty: float | None, procedure_penalty: float | None, entropy: float) -> Any:
    """The settings of a transport whose marginals may give way; None is the paper's."""
    if diagnosis_penalty is None and procedure_penalty is None:
        return None
    from dx2px.model.transport import TransportConfig

    return TransportConfig(
        diagnosis_penalty=diagnosis_penalty, procedure_penalty=procedure_penalty, entropy=entropy
    )


def _advise_stream(cohort: Path) -> None:
    """Say so where a cohort would fill more than half of the machine's memory; what to do is the user's choice."""
    from dx2px.cohort import CohortFile

    needed = CohortFile(cohort).stays * BYTES_A_STAY
    if hasattr(os, "sysconf") and needed > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2:
        remark(
            f"Held in memory, this cohort takes about {needed / 2**30:.0f} GB; --stream reads it in pieces."
        )


def _refuse_company(method: str) -> None:
    """Only the methods of the training loop are learned by several processes; the first one says so."""
    from dx2px.training.launch import launched

    launch = launched()
    if launch is None or launch.size == 1:
        return
    if launch.rank:
        raise typer.Exit(1)
    raise InputError(f"The method {method} is learned by one process: start it without torchrun.")


def _given(context: typer.Context, *names: str) -> list[str]:
    """Those of some options that stand on the command line."""
    sources = {name: context.get_parameter_source(name) for name in names}
    return [name for name, source in sources.items() if source and source.name == "COMMANDLINE"]


def _refuse_options(context: typer.Context, method: str) -> None:
    """Options that would change nothing: of an attention that a method lacks, or of the loop where it has none."""
    from dx2px.evaluation.methods import LEARNED, foreign_settings

    loop = ["dim", "epochs", "batch_size", "lr", "patience", "keep", "device", "resume", "half"]
    loop += ["save_every", "stream"]
    own = [] if method in LEARNED else loop
    refuse_options(_given(context, *foreign_settings(method), *own), f"the method {method}")


def _save_curves(model: Path) -> None:
    from dx2px.model.folder import read_folder
    from dx2px.report.curves import save_curves

    save_curves(read_folder(model).history, model.with_name(f"{model.name}.curves.png"))


@contextmanager
def _interruptible() -> Iterator[Any]:
    """Yield a function that tells whether Ctrl-C was pressed; a second Ctrl-C ends at once."""
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
