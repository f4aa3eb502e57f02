"""Commands around one model: train, evaluate, recommend, explain, neighbors, export."""

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

from dx2px.cli.console import print_json, print_table, remark, training_progress, working
from dx2px.errors import InputError

if TYPE_CHECKING:
    from dx2px.cohort import Cohort
    from dx2px.evaluation import Metrics, ProjectionCounts
    from dx2px.inference import Explanation, Model, Neighbors, Recommendation, Recommended

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
FormatName = StrEnum("FormatName", ["word2vec", "parquet", "npz"])
INTERRUPTED = 130

ModelOption = Annotated[
    Path | None, typer.Option("--model", help="A model folder, as `dx2px train` writes it.")
]
Codes = Annotated[list[str], typer.Argument(help="Diagnoses: 428.0, 4280 or icd9cm:4280.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
NOT_ADVICE = "This reflects how stays were coded; it is no medical advice."


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


def recommend(
    codes: Codes,
    model: ModelOption = None,
    top: Annotated[int, typer.Option(help="How many procedures.", min=1)] = 5,
    json: AsJson = False,
) -> None:
    """Recommend procedures for a stay's diagnoses, with reasons."""
    found = _load(model).recommend(_split(codes), top)
    if json:
        print_json(found.to_dict())
    else:
        show_recommendation(found)


def explain(
    codes: Codes,
    model: ModelOption = None,
    procedures: Annotated[str | None, typer.Option(help="Procedures to explain, comma-separated.")] = None,
    top: Annotated[int, typer.Option(help="How many of the best to explain, if none are given.", min=1)] = 5,
    out: Annotated[Path | None, typer.Option(help="Save as .json, .png, .svg or .pdf.")] = None,
) -> None:
    """Show the significance of each diagnosis and its transport to the procedures."""
    if out is not None and out.suffix.lower() != ".json":
        from dx2px.report.figures import check_format

        check_format(out)
    found = _load(model).explain(_split(codes), _split([procedures]) if procedures else None, top)
    if out is None:
        _show_explanation(found)
        return
    if out.suffix.lower() == ".json":
        from json import dumps

        from dx2px.storage import write_text

        write_text(out, dumps(found.to_dict(), indent=2, ensure_ascii=False))
    else:
        from dx2px.report.explanation import save_explanation

        save_explanation(found, out)
    remark(f"The explanation is in {out}. {NOT_ADVICE}")


def neighbors(
    code: Annotated[str, typer.Argument(help="A diagnosis or procedure.")],
    model: ModelOption = None,
    top: Annotated[int, typer.Option(help="How many of each kind.", min=1)] = 10,
    json: AsJson = False,
) -> None:
    """List the codes whose vectors are nearest to a code's, by cosine."""
    found = _load(model).neighbors(code, top)
    if json:
        print_json(found.to_dict())
    else:
        _show_neighbors(found)


def export(
    out: Annotated[Path, typer.Option(help="The file to write.")],
    model: ModelOption = None,
    format: Annotated[FormatName, typer.Option(help="Which kind of file.")] = FormatName["word2vec"],  # noqa: A002
) -> None:
    """Write the vectors of all codes, each labelled with its code, for other tools."""
    from dx2px.inference import export as write

    write(_load(model), out, format.value)  # type: ignore[arg-type]
    remark(f"The vectors are in {out}.")


def show_metrics(metrics: Metrics, title: str) -> None:
    """Print the twelve numbers of a row of the paper's Table 1."""
    names = ("recall", "precision", "f1")
    means = {name: metrics.mean(name) for name in names}
    rows = [[f"top {L}", *(means[name][L] for name in names)] for L in metrics.at]
    print_table(f"{title}: {len(metrics):,} stays, per cent", ["", "recall", "precision", "F1"], rows)


def show_recommendation(found: Recommendation) -> None:
    """Print diagnoses with their significance, and procedures with their reasons."""
    known = [
        [d.code, d.title, f"{d.significance:.1%}" if d.status == "known" else d.status]
        for d in found.diagnoses
    ]
    print_table("Diagnoses", ["code", "title", "significance"], known)
    rows = [[r.rank, r.code, r.title, _score(r.probability), _reasons(r)] for r in found.recommendations]
    print_table("Procedures", ["rank", "code", "title", "score", "because of"], rows)
    remark(NOT_ADVICE)


def _score(probability: float | None) -> str:
    return "–" if probability is None else f"{probability:.3f}"


def _reasons(recommended: Recommended) -> str:
    """The diagnoses that account for a procedure, three at most, from one hundredth up."""
    return ", ".join(f"{b.code} {b.share:.0%}" for b in recommended.because[:3] if b.share >= 0.01)


def _show_explanation(found: Explanation) -> None:
    known = [p for p in found.procedures if p.status == "known"]
    diagnoses = [d for d in found.diagnoses if d.status == "known"]
    rows = [
        [d.code, d.title, f"{d.significance:.3f}", *(f"{mass:.3f}" for mass in row)]
        for d, row in zip(diagnoses, found.transport.plan, strict=True)
    ]
    print_table(
        "Transport from diagnoses to procedures", ["code", "title", "μ", *(p.code for p in known)], rows
    )
    scores = [
        [p.code, p.title, _score(p.probability) if p.status == "known" else p.status]
        for p in found.procedures
    ]
    print_table("Procedures", ["code", "title", "score"], scores)
    unknown = [d.code for d in found.diagnoses if d.status == "unknown"]
    if unknown:
        remark(f"The model does not know {', '.join(unknown)}.")
    remark(NOT_ADVICE)


def _show_neighbors(found: Neighbors) -> None:
    for kind, near in (("diagnoses", found.diagnoses), ("procedures", found.procedures)):
        rows = [[n.code, n.title, f"{n.similarity:.3f}"] for n in near]
        print_table(f"Nearest {kind} to {found.code} {found.title}", ["code", "title", "cosine"], rows)


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


def _load(path: Path | None) -> Model:
    from dx2px.inference import Model

    if path is None:
        raise InputError("No model is given: name one with --model; `dx2px train` makes one.")
    return Model.load(path)


def _split(codes: list[str]) -> list[str]:
    return [code.strip() for text in codes for code in text.split(",") if code.strip()]


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
