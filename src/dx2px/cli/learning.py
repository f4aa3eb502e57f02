"""Commands that make and measure a model: train, evaluate."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dx2px.cli.console import AsJson, print_json, print_table, remark, training_progress, working
from dx2px.errors import InputError

if TYPE_CHECKING:
    from dx2px.cohort import Cohort
    from dx2px.evaluation import Metrics, ProjectionCounts
    from dx2px.inference import Model

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
    ],
)
SplitName = StrEnum("SplitName", ["patient", "stay"])
PartName = StrEnum("PartName", ["test", "train", "all"])
DeviceName = StrEnum("DeviceName", ["cpu", "cuda", "mps"])
KeepName = StrEnum("KeepName", ["last", "best"])
INTERRUPTED = 130


def train(
    context: typer.Context,
    cohort: Annotated[Path, typer.Argument(help="A cohort file.")],
    out: Annotated[Path, typer.Option(help="The model folder to write.")],
    method: Annotated[MethodName, typer.Option(help="What to learn.")] = MethodName["e+sa+ma"],
    dim: Annotated[int, typer.Option(help="Dimension M of the vectors.")] = 200,
    heads: Annotated[int, typer.Option(help="Heads K of the self-attention.")] = 8,
    alpha: Annotated[float, typer.Option(help="Weight of the transport loss.")] = 0.1,
    epochs: Annotated[int, typer.Option(help="Passes over the training stays.")] = 25,
    batch_size: Annotated[int, typer.Option(help="Stays a step.")] = 300,
    lr: Annotated[float, typer.Option(help="Learning rate of Adam.")] = 0.001,
    seed: Annotated[int, typer.Option(help="Fixes the start, the order of the stays and the negatives.")] = 0,
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
) -> None:
    """Learn a model from a cohort; print its test numbers, write the folder and its loss curve.

    OUT.checkpoint, beside the folder, holds the full state after each epoch; Ctrl-C writes it too, and --resume
    goes on from it to the same weights as an undisturbed run.
    """
    sleep_while_waiting()
    from dx2px.cohort import Cohort
    from dx2px.evaluation.methods import VARIANTS, method_named
    from dx2px.evaluation.paper import PaperModel
    from dx2px.evaluation.run import SplitConfig, checkpoint_path, learn
    from dx2px.model.folder import check_destination
    from dx2px.model.network import ModelConfig
    from dx2px.model.step import AdamConfig
    from dx2px.training.config import TrainingConfig

    check_destination(out)
    by: Any = split_by.value if split_by else None
    split = SplitConfig(by=by, folds=folds, fold=fold)
    if method.value not in VARIANTS:
        _refuse_options(context, method.value)
        stays = Cohort.load(cohort)
        with working(method.value) as say:
            trained = learn(stays, method_named(method.value), split, seed=seed, threads=threads, say=say)
    else:
        training = TrainingConfig(
            model=ModelConfig(variant=method.value, dim=dim, heads=heads, alpha=alpha),
            adam=AdamConfig(lr=lr),
            epochs=epochs,
            batch_size=batch_size,
            patience=patience,
            keep=keep.value,  # type: ignore[arg-type]
        ).with_seed(seed)
        stays = Cohort.load(cohort)
        with _interruptible() as asked_to_stop, training_progress(method.value, epochs) as hooks:
            model = PaperModel(
                training,
                hooks=hooks(asked_to_stop),
                checkpoint=checkpoint_path(out),
                resume=resume,
                device=device.value,  # type: ignore[arg-type]
            )
            trained = learn(stays, model, split, seed=seed, threads=threads)
        if model.outcome and not model.outcome.finished:
            remark(
                f"Stopped. The state is in {checkpoint_path(out)}; the same command with --resume goes on."
            )
            raise typer.Exit(INTERRUPTED)
    trained.save(out)
    show_metrics(trained.evaluate("test"), f"{method.value} on the test part")
    if method.value in VARIANTS:
        _save_curves(out)
    remark(f"The model is in {out}.")


def sleep_while_waiting() -> None:
    """Let waiting threads sleep: with another busy process on the machine, spinning ones cost a factor of five.

    The setting is read once, when torch is first imported.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def _refuse_options(context: typer.Context, method: str) -> None:
    """Options of the paper's model mean nothing to other methods, which choose their settings on validation."""
    given = [
        f"--{name.replace('_', '-')}"
        for name in (
            "dim",
            "heads",
            "alpha",
            "epochs",
            "batch_size",
            "lr",
            "patience",
            "keep",
            "device",
            "resume",
        )
        if (source := context.get_parameter_source(name)) is not None and source.name == "COMMANDLINE"
    ]
    if given:
        raise InputError(f"{', '.join(given)} belong to the paper's model; {method} has no such options.")


def evaluate(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    cohort: Annotated[Path, typer.Argument(help="A cohort file.")],
    on: Annotated[
        PartName | None,
        typer.Option(help="Which stays [default: test of the cohort it learned from, all of another]."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Measure a model: recall, precision and F1 of the top 1, 3, 5 and 10, in per cent.

    On a cohort that the model did not learn from, codes it does not know are set aside and counted.
    """
    from dx2px.cohort import Cohort
    from dx2px.evaluation import evaluate as measure
    from dx2px.inference import Model

    loaded = Model.load(model)
    stays, part, counts = _part(loaded, Cohort.load(cohort), on.value if on else None)
    metrics = measure(loaded.scorer.scores, stays.diagnoses, stays.procedures)
    if json:
        extra = {} if counts is None else {"projection": counts.to_dict()}
        print_json({**metrics.to_dict(), "part": part, **extra})
        return
    show_metrics(metrics, f"{loaded.files.method} on {part} stays of {cohort.name}")
    if counts is not None:
        _show_projection(counts)


def show_metrics(metrics: Metrics, title: str) -> None:
    """Print the twelve numbers of a row of the paper's Table 1."""
    names = ("recall", "precision", "f1")
    means = {name: metrics.mean(name) for name in names}
    rows = [[f"top {L}", *(means[name][L] for name in names)] for L in metrics.at]
    print_table(f"{title}: {len(metrics):,} stays, per cent", ["", "recall", "precision", "F1"], rows)


def _show_projection(counts: ProjectionCounts) -> None:
    for kind, aside in (("diagnoses", counts.diagnoses), ("procedures", counts.procedures)):
        remark(
            f"Set aside: {aside.codes_set_aside:,} of {aside.codes:,} distinct {kind} "
            f"({aside.entries_set_aside:,} of {aside.entries:,} entries), which the model does not know."
        )
    remark(f"{counts.stays_kept:,} of {counts.stays:,} stays keep a diagnosis and a procedure.")


def _part(model: Model, cohort: Cohort, part: str | None) -> tuple[Cohort, str, ProjectionCounts | None]:
    """The stays to measure on; a cohort the model did not learn from is projected onto its vocabularies."""
    from dx2px.evaluation.parts import learned_from, learning_part

    if learned_from(model.files, cohort):
        name = part or "test"
        return learning_part(model.files, cohort, name), name, None
    if part not in (None, "all"):
        raise InputError(
            f"The model did not learn from this cohort, so it has no {part} part of it: use --on all."
        )
    from dx2px.evaluation import project

    projected = project(cohort, model.diagnoses.vocabulary, model.procedures.vocabulary)
    return projected.cohort, "all", projected.counts


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
