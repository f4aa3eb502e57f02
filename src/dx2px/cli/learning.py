"""Commands that make and measure a model: train, evaluate."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
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
    from dx2px.evaluation.reliability import Reliability
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
        "coupling",
    ],
)
SplitName = StrEnum("SplitName", ["patient", "stay"])
PartName = StrEnum("PartName", ["test", "train", "all"])
DeviceName = StrEnum("DeviceName", ["cpu", "cuda", "mps"])
KeepName = StrEnum("KeepName", ["last", "best"])
INTERRUPTED = 130
BYTES_A_STAY = 200  # of a cohort in memory while it teaches (benchmarks/scaling.py)


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
    dim: Annotated[int, typer.Option(help="Dimension M of the vectors.")] = 200,
    heads: Annotated[int, typer.Option(help="Heads K of the paper's self-attention.")] = 8,
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
        int | None, typer.Option(help="Passes over the training stays [default: 16; paper's models 25].")
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Stays a step.")] = 300,
    lr: Annotated[
        float | None, typer.Option(help="Learning rate of Adam [default: 0.004; paper's models 0.001].")
    ] = None,
    seed: Annotated[int, typer.Option(help="Fixes the start, the order of the stays and all draws.")] = 0,
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
    from dx2px.cohort import Cohort
    from dx2px.evaluation.methods import LEARNED, learned_by, loop_settings, method_named
    from dx2px.evaluation.recipe import card_notes
    from dx2px.evaluation.run import SplitConfig, checkpoint_path, learn
    from dx2px.evaluation.streamed import learn_stream
    from dx2px.model.folder import check_destination
    from dx2px.training.launch import launched
    from dx2px.training.processes import joined

    check_destination(out)
    _refuse_options(context, method.value)
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


def _transport(diagnosis_penalty: float | None, procedure_penalty: float | None, entropy: float) -> Any:
    """The settings of a transport whose marginals may give way; None is the paper's."""
    if diagnosis_penalty is None and procedure_penalty is None:
        return None
    from dx2px.model.transport import TransportConfig

    return TransportConfig(
        diagnosis_penalty=diagnosis_penalty, procedure_penalty=procedure_penalty, entropy=entropy
    )


def sleep_while_waiting() -> None:
    """Let waiting threads sleep: with another busy process on the machine, spinning ones cost a factor of five.

    The setting is read once, when torch is first imported.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


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


def _refuse_options(context: typer.Context, method: str) -> None:
    """Options of the training loop mean nothing to methods that choose their settings on validation."""
    from dx2px.evaluation.methods import LEARNED, VARIANTS

    penalties = ["diagnosis_penalty", "procedure_penalty", "entropy"]
    foreign: list[str] = [] if method in VARIANTS else ["heads", "alpha", *penalties]
    if method not in LEARNED:
        foreign += ["dim", "epochs", "batch_size", "lr", "patience", "keep", "device", "resume", "half"]
        foreign += ["save_every", "stream"]
    given = [
        f"--{name.replace('_', '-')}"
        for name in foreign
        if (source := context.get_parameter_source(name)) is not None and source.name == "COMMANDLINE"
    ]
    if given:
        raise InputError(f"{', '.join(given)} mean nothing to the method {method}.")


def evaluate(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    cohort: Annotated[Path, typer.Argument(help="A cohort file.")],
    on: Annotated[
        PartName | None,
        typer.Option(help="Which stays [default: test of the cohort it learned from, all of another]."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Save the reliability plot: .png, .svg or .pdf.")] = None,
    back_off: Annotated[
        bool, typer.Option("--back-off", help="Let known siblings stand in for diagnoses the model lacks.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Measure a model: recall, precision and F1 of the top 1, 3, 5 and 10, in per cent, and its calibration.

    On a cohort that the model did not learn from, codes it does not know are set aside and counted.
    """
    from dx2px.cohort import Cohort
    from dx2px.evaluation import evaluate as measure
    from dx2px.inference import Model

    if plot is not None:
        from dx2px.report.figures import check_format

        check_format(plot)
    loaded, whole = Model.load(model), Cohort.load(cohort)
    known = len(loaded.files.diagnoses)
    if back_off:
        loaded = loaded.extended(whole.diagnosis_vocabulary)
    stays, part, counts = _part(loaded, whole, on.value if on else None)
    metrics = measure(loaded.scorer.scores, stays.diagnoses, stays.procedures)
    trust = _reliability(loaded, stays)
    if plot is not None:
        _save_reliability(trust, plot)
    if json:
        extra: dict[str, Any] = {} if counts is None else {"projection": counts.to_dict()}
        extra |= {} if trust is None else {"calibration": trust.to_dict()}
        extra |= {"backed_off": len(loaded.files.diagnoses) - known} if back_off else {}
        print_json({**metrics.to_dict(), "part": part, **extra})
        return
    show_metrics(metrics, f"{loaded.files.method} on {part} stays of {cohort.name}")
    if trust is not None:
        show_reliability(trust)
    if back_off:
        remark(
            f"Backed off: siblings stood in for {len(loaded.files.diagnoses) - known:,} distinct diagnoses."
        )
    if counts is not None:
        _show_projection(counts)


def _reliability(model: Model, stays: Cohort) -> Reliability | None:
    """How far probabilities can be trusted on these stays; None for a model without a calibration."""
    from dx2px.evaluation.reliability import reliability

    calibration = model.files.calibration
    if calibration is None:
        return None
    return reliability(calibration, model.scorer.scores, stays.diagnoses, stays.procedures)


def _save_reliability(trust: Reliability | None, plot: Path) -> None:
    if trust is None:
        raise InputError("The model has no calibration, so there is nothing to plot: train it anew.")
    from dx2px.report.reliability import save_reliability

    save_reliability(trust, plot)
    remark(f"The reliability plot is in {plot}.")


def show_reliability(trust: Reliability) -> None:
    """Print expected calibration error and slope, and what sets of stated coverage held."""
    rows = [
        [pairs, f"{one.ece:.4f}", "–" if one.slope is None else f"{one.slope:.2f}"]
        for pairs, one in (("all pairs", trust.all), ("ten most probable", trust.top))
    ]
    print_table("Calibration", ["", "expected error", "slope"], rows)
    sets = [[f"{one.target:.0%}", f"{one.recall:.1%}", f"{one.set_size:.1f}"] for one in trust.coverage]
    print_table("Sets that should hold a share of a stay's procedures", ["asked", "held", "size"], sets)


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
    from dx2px.evaluation.parts import measured_part

    measured = measured_part(model.files, cohort, part)
    return measured.stays, measured.part, measured.counts


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
