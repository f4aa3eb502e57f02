"""The command that learns a model: train."""

from __future__ import annotations

import os
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from dx2px.cli.console import refuse_options, remark, sleep_while_waiting
from dx2px.cli.measuring import EvidenceName, show_metrics
from dx2px.cli.training_run import Run
from dx2px.errors import InputError
from dx2px.scoring.methods import DEFAULT, METHODS
from dx2px.words import counted

SplitName = StrEnum("SplitName", ["patient", "stay"])
DeviceName = StrEnum("DeviceName", ["cpu", "cuda", "mps"])
KeepName = StrEnum("KeepName", ["last", "best"])
# The headings of the options in the help.
LEARNING = "Learning"
PAPER = "The paper's model (e+sa+ma and its variants)"
SPLIT = "Training, validation and test stays"
RUNNING = "Running"
# Options that `adapt` has as well.
CohortArgument = Annotated[Path, typer.Argument(help="A cohort file, made by `dx2px prepare`.")]
Out = Annotated[Path, typer.Option(help="The model folder to write.")]
SplitBy = Annotated[
    SplitName | None,
    typer.Option(
        help="Split 80 % training and 20 % test by patient or by stay.",
        show_default="patient, if patients are known",
        rich_help_panel=SPLIT,
    ),
]
Folds = Annotated[int, typer.Option(help="Number of folds of the training part.", rich_help_panel=SPLIT)]
Fold = Annotated[
    int, typer.Option(help="The fold held out for validation, counted from 0.", rich_help_panel=SPLIT)
]
Threads = Annotated[
    int | None,
    typer.Option(help="Number of threads.", min=1, show_default="one per core", rich_help_panel=RUNNING),
]
Half = Annotated[
    bool, typer.Option("--half", help="Save the weights in half precision.", rich_help_panel=RUNNING)
]


def check_cohorts(*files: Path) -> None:
    """Check that every cohort can be opened, before the seconds or hours of work that follow."""
    from dx2px.cohort import CohortFile

    for path in files:
        CohortFile(path)


def _take_recipe(context: typer.Context, recipe: Path | None) -> Path | None:
    """Make the recipe's settings the defaults of the options that are not given."""
    if recipe is not None:
        from dx2px.training.recipe import training_options

        names = {parameter.name for parameter in context.command.params}
        context.default_map = training_options(recipe, names - {"cohort", "out", "recipe"})
    return recipe


def _known(context: typer.Context, method: str) -> str:
    """The method's name, if there is such a method."""
    if method not in METHODS:
        raise typer.BadParameter(f"there is no method {method!r}; choose from {', '.join(METHODS)}.")
    return method


def train(
    context: typer.Context,
    cohort: CohortArgument,
    out: Out,
    method: Annotated[
        str, typer.Option(help=f"The method to learn: {', '.join(METHODS)}.", callback=_known)
    ] = DEFAULT,
    recipe: Annotated[
        Path | None,
        typer.Option(
            help="A TOML file whose table [train] sets these options; the command line overrides it.",
            callback=_take_recipe,
            is_eager=True,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Continue from the checkpoint of an interrupted run, if there is one."),
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the model that OUT holds, if there is one.")
    ] = False,
    evidence: Annotated[
        EvidenceName,
        typer.Option(
            help="Learn from the diagnoses alone (codes), or also from principal diagnosis, age, sex, type of "
            "admission and the procedures already coded, where the cohort has them (stay).",
            rich_help_panel=LEARNING,
        ),
    ] = EvidenceName["stay"],
    dim: Annotated[
        int, typer.Option(help="Dimension of the code vectors.", max=10_000, rich_help_panel=LEARNING)
    ] = 200,
    epochs: Annotated[
        int | None,
        typer.Option(
            help="Number of passes over the training stays.",
            show_default="coupling 12, others 25",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(
            help="Number of stays per training step.",
            show_default="300; coupling fewer below 2,400 training stays",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    lr: Annotated[
        float | None,
        typer.Option(
            help="Learning rate of Adam.",
            show_default="coupling 0.004, others 0.001",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    start: Annotated[
        float | None,
        typer.Option(
            help="Standard deviation of the vectors before learning: paper's models, bpr, word2vec.",
            show_default="0.1",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    tune: Annotated[
        bool,
        typer.Option(
            "--tune",
            help="First choose learning rate, start and epochs on the validation stays: paper's models, bpr, word2vec. "
            "About five runs.",
            rich_help_panel=LEARNING,
        ),
    ] = False,
    patience: Annotated[
        int | None,
        typer.Option(
            help="Stop after this many epochs without a better validation F1@5, and keep the best epoch.",
            show_default="train all epochs",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    keep: Annotated[
        KeepName,
        typer.Option(help="Keep the weights of the last epoch or of the best.", rich_help_panel=LEARNING),
    ] = KeepName["last"],
    seed: Annotated[
        int,
        typer.Option(
            help="The same seed, settings and machine give the same model.", min=0, rich_help_panel=LEARNING
        ),
    ] = 0,
    heads: Annotated[
        int, typer.Option(help="Number of heads of the self-attention.", max=1000, rich_help_panel=PAPER)
    ] = 8,
    alpha: Annotated[float, typer.Option(help="Weight of the transport loss.", rich_help_panel=PAPER)] = 0.1,
    diagnosis_penalty: Annotated[
        float | None,
        typer.Option(
            help="Penalty on transport that misses the diagnoses' marginal; 0 ignores that marginal.",
            show_default="the marginal is met exactly",
            rich_help_panel=PAPER,
        ),
    ] = None,
    procedure_penalty: Annotated[
        float | None,
        typer.Option(
            help="The same penalty for the procedures' marginal.",
            show_default="the marginal is met exactly",
            rich_help_panel=PAPER,
        ),
    ] = None,
    entropy: Annotated[
        float | None,
        typer.Option(
            help="Entropy weight of a transport with a penalty.", show_default="0.05", rich_help_panel=PAPER
        ),
    ] = None,
    split_by: SplitBy = None,
    folds: Folds = 10,
    fold: Fold = 0,
    device: Annotated[
        DeviceName, typer.Option(help="Where to compute.", rich_help_panel=RUNNING)
    ] = DeviceName["cpu"],
    threads: Threads = None,
    save_every: Annotated[
        float,
        typer.Option(help="Seconds between checkpoints within an epoch.", min=0.0, rich_help_panel=RUNNING),
    ] = 60.0,
    stream: Annotated[
        bool,
        typer.Option(
            "--stream",
            help="Read the cohort in pieces, for more stays than fit in memory.",
            rich_help_panel=RUNNING,
        ),
    ] = False,
    half: Half = False,
) -> None:
    """Learn a model from a cohort and print its test results.

    The state is saved in OUT.checkpoint after each epoch, every minute and on Ctrl-C. With --resume the same command
    continues from there, to the same weights as an uninterrupted run. Under torchrun, several processes learn one
    model together (docs/scale.md).

    \b
    Examples:
      dx2px train C.parquet --out MODEL
      dx2px train C.parquet --out MODEL --resume
      dx2px train C.parquet --out MODEL --overwrite
      dx2px train C.parquet --out PAPER --method e+sa+ma --epochs 25 --seed 1
      dx2px train C.parquet --out PAPER --method e+sa+ma --tune
    """
    sleep_while_waiting()
    check_cohorts(cohort)
    from dx2px.scoring.folder import check_destination

    check_destination(out)
    from dx2px.methods import learner_class
    from dx2px.training.learned import LearnedModel
    from dx2px.training.recipe import card_notes
    from dx2px.training.run import SplitConfig, checkpoint_path

    learner = learner_class(method)
    in_loop = issubclass(learner, LearnedModel)
    check_free(out, overwrite, resume and in_loop and checkpoint_path(out).exists())
    check_threads(threads)
    by: Any = split_by.value if split_by else None
    split = SplitConfig(by=by, folds=folds, fold=fold)
    settings = {
        "dim": dim,
        "evidence": evidence.value,
        "heads": heads,
        "alpha": alpha,
        "diagnosis_penalty": diagnosis_penalty,
        "procedure_penalty": procedure_penalty,
        "entropy": entropy,
        "epochs": epochs,
        "batch_size": batch_size,
        "lr": lr,
        "start": start,
        "patience": patience,
        "keep": keep.value,
        "device": device.value,
        "resume": resume,
        "half": half,
        "save_every": save_every,
    }
    known = learner.options_of(method)
    used = {*known, "resume"} if tune else known  # the trials of a search are kept, whatever the method
    refuse_options(_given(context, *({*settings, "stream"} - used)), f"the method {method}")
    if diagnosis_penalty is None and procedure_penalty is None:
        refuse_options(_given(context, "entropy"), "a transport that meets both marginals exactly")
    if patience is not None and keep.value == "last":
        refuse_options(_given(context, "keep"), "training with --patience, which always keeps the best epoch")
    run = Run(method, cohort, out, split, seed, threads, stream)
    options = {name: value for name, value in settings.items() if name in known}
    notes = [card_notes(recipe)] if recipe is not None else []
    if tune:
        _check_tune(context, run)
        from dx2px.cli.tuning import tuned

        options, chosen = tuned(run, options, resume)
        notes.append(chosen)
    trained = run.in_loop(options) if in_loop else run.at_once(options)
    trained = replace(trained, notes="\n\n".join(notes))
    ended_before = resume and not overwrite and trained.is_saved_in(out)
    if not ended_before:
        trained.save(out)
    show_metrics(trained.evaluate("test"), f"{method} on the test part")
    if in_loop and not (ended_before and curves_path(out).exists()):
        save_curves(out)
    remark(
        f"This run had ended: its model is in {out}, as it was."
        if ended_before
        else f"The model is in {out}."
    )


def check_free(out: Path, overwrite: bool, continued: bool) -> None:
    """An `InputError` if a model would be replaced; a run that is continued may have written it."""
    if out.is_dir() and any(out.iterdir()) and not overwrite and not continued:
        raise InputError(f"{out} holds a model already: name another folder, or replace it with --overwrite.")


def _check_tune(context: typer.Context, run: Run) -> None:
    """An `InputError` if there is nothing to choose, or if an option says what is to be chosen."""
    from dx2px.methods.tuning import OPTIONS, check_tunable
    from dx2px.training.launch import launched

    check_tunable(run.method)
    refuse_options(_given(context, *OPTIONS, "keep", "stream"), "--tune, which chooses on validation")
    if launched() is not None:
        raise InputError("--tune is done by one process: start it without torchrun.")


def check_threads(threads: int | None) -> None:
    """An `InputError` if there are fewer cores."""
    cores = os.cpu_count() or 1
    if threads is not None and threads > cores:
        raise InputError(f"--threads {threads}: this machine has only {counted(cores, 'core')}.")


def _given(context: typer.Context, *names: str) -> list[str]:
    """Those of some options that were given on the command line, in alphabetical order."""
    sources = {name: context.get_parameter_source(name) for name in sorted(names)}
    return [name for name, source in sources.items() if source and source.name == "COMMANDLINE"]


def curves_path(model: Path) -> Path:
    """Where the training curves of a model folder are."""
    return model.with_name(f"{model.name}.curves.png")


def save_curves(model: Path) -> None:
    """Draw the training curves beside the model folder."""
    from dx2px.report.curves import save_curves
    from dx2px.scoring.folder import read_folder

    save_curves(read_folder(model).history, curves_path(model))
