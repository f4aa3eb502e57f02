"""The command that measures a model: evaluate; and how metrics are printed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dx2px.cli.console import AsJson, print_json, print_table, remark
from dx2px.errors import InputError
from dx2px.storage import check_place

if TYPE_CHECKING:
    from dx2px.cohort import Cohort
    from dx2px.evaluation import Metrics, ProjectionCounts
    from dx2px.evaluation.reliability import Reliability
    from dx2px.inference import Model

PartName = StrEnum("PartName", ["test", "train", "all"])


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
    from dx2px.evaluation.parts import measured_part
    from dx2px.inference import Model

    if plot is not None:
        from dx2px.report.figures import check_format

        check_format(plot)
        check_place(plot)
    loaded, whole = Model.load(model), Cohort.load(cohort)
    known = len(loaded.files.diagnoses)
    if back_off:
        loaded = loaded.extended(whole.diagnosis_vocabulary)
    measured = measured_part(loaded.files, whole, on.value if on else None)
    stays, counts = measured.stays, measured.counts
    metrics = measure(loaded.scorer.scores, stays.diagnoses, stays.procedures)
    trust = _reliability(loaded, stays)
    if plot is not None and trust is None:
        raise InputError("The model has no calibration, so there is nothing to plot: train it anew.")
    if json:
        extra: dict[str, Any] = {} if counts is None else {"projection": counts.to_dict()}
        extra |= {} if trust is None else {"calibration": trust.to_dict()}
        extra |= {"backed_off": len(loaded.files.diagnoses) - known} if back_off else {}
        print_json({**metrics.to_dict(), "part": measured.part, **extra})
    else:
        show_metrics(metrics, f"{loaded.files.method} on {measured.part} stays of {cohort.name}")
        if trust is not None:
            show_reliability(trust)
        if back_off:
            remark(
                f"Backed off: siblings stood in for {len(loaded.files.diagnoses) - known:,} distinct diagnoses."
            )
        if counts is not None:
            _show_projection(counts)
    if plot is not None and trust is not None:
        from dx2px.report.reliability import save_reliability

        save_reliability(trust, plot)
        remark(f"The reliability plot is in {plot}.")


def _reliability(model: Model, stays: Cohort) -> Reliability | None:
    """How far probabilities can be trusted on these stays; None for a model without a calibration."""
    from dx2px.evaluation.reliability import reliability

    calibration = model.files.calibration
    if calibration is None:
        return None
    return reliability(calibration, model.scorer.scores, stays.diagnoses, stays.procedures)


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
