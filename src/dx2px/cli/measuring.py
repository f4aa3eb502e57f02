"""The command that measures a model, evaluate, and how metrics are printed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dx2px.cli.console import AsJson, print_json, print_table, remark
from dx2px.cli.models import Mapping, ModelArgument, load_model
from dx2px.errors import InputError
from dx2px.storage import check_place
from dx2px.words import counted

if TYPE_CHECKING:
    from dx2px.answers import Model
    from dx2px.answers.cohort_reading import CohortReading
    from dx2px.cohort.projection import ProjectionCounts
    from dx2px.ragged import Ragged
    from dx2px.scoring.metrics import Metrics
    from dx2px.scoring.per_procedure import PerProcedure
    from dx2px.scoring.reliability import Reliability
    from dx2px.scoring.travel import Travel

EvidenceName = StrEnum("EvidenceName", ["codes", "stay"])
EvidenceOption = Annotated[
    EvidenceName,
    typer.Option(
        help="Answer from the diagnoses alone (codes), or also from principal diagnosis, age, sex and type of "
        "admission where model and file have them (stay)."
    ),
]
PartName = StrEnum("PartName", ["test", "train", "all"])
PART_DEFAULT = "test for the cohort the model learned from, all for another"


def evaluate(
    model: ModelArgument,
    cohort: Annotated[Path, typer.Argument(help="A cohort file.")],
    on: Annotated[
        PartName | None,
        typer.Option(help="Which stays to measure on.", show_default=PART_DEFAULT),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Also save the reliability plot, as .png, .svg or .pdf.")
    ] = None,
    back_off: Annotated[
        bool,
        typer.Option("--back-off", help="Replace diagnoses the model does not know by their known siblings."),
    ] = False,
    evidence: EvidenceOption = EvidenceName["stay"],
    map: Mapping = True,  # noqa: A002
    json: AsJson = False,
) -> None:
    """Measure a model: recall, precision, F1 and calibration.

    They are given in per cent for the top 1, 3, 5 and 10 procedures. On a cohort that the model did not learn from,
    diagnoses of the other ICD version are translated, ICD-10-PCS codes count as families of the model, codes that it
    does not know are left out, all of it counted; and a sentence says how well the model travels.

    \b
    Examples:
      dx2px evaluate MODEL C.parquet
      dx2px evaluate nhds2010 C.parquet --json
    """
    from dx2px.answers.cohort_reading import read_by
    from dx2px.cohort import Cohort
    from dx2px.scoring.cohort_evidence import stay_rows, told_facts
    from dx2px.scoring.measured import measured_part
    from dx2px.scoring.metrics import evaluate as measure

    if plot is not None:
        import matplotlib  # noqa: F401 - if it is missing, say so before the work

        from dx2px.report.figures import check_format

        check_format(plot)
        check_place(plot)
    asked = load_model(model)
    reading = read_by(asked, Cohort.load(cohort), map)
    whole = reading.cohort
    loaded, known = asked, len(asked.files.diagnoses)
    if back_off:
        loaded = loaded.extended(whole.diagnosis_vocabulary)
    measured = measured_part(loaded.files, whole, on.value if on else None)
    stays, counts = measured.stays, measured.counts
    rows = stay_rows(loaded.scorer, stays, evidence.value)  # type: ignore[arg-type]
    used = evidence.value if told_facts(loaded.scorer, stays) else "codes"
    metrics = measure(loaded.scorer.scores, rows, stays.procedures)
    trust = _reliability(loaded, rows, stays.procedures)
    travel = None
    if counts is not None:
        from dx2px.scoring.travel import travelled

        travel = travelled(asked.files, whole, stays.procedures, metrics, trust)
    if plot is not None and trust is None:
        raise InputError("The model has no calibration, so there is nothing to plot: train it again.")
    if json:
        extra: dict[str, Any] = {} if counts is None else {"projection": counts.to_dict()}
        extra |= {} if travel is None else {"travel": travel.to_dict()}
        if trust is not None:
            extra |= {"log_loss": trust.procedures.log_loss, "calibration": trust.to_dict()}
        extra |= {"mapping": reading.mapping} if reading.mapping else {}
        extra |= {"in_families": reading.in_families} if reading.in_families else {}
        extra |= {"backed_off": len(loaded.files.diagnoses) - known} if back_off else {}
        print_json({**metrics.to_dict(), "part": measured.part, "evidence": used, **extra})
    else:
        alone = " from diagnoses alone" if loaded.layout is not None and used == "codes" else ""
        show_metrics(metrics, f"{loaded.files.method} on {measured.part} stays of {cohort.name}{alone}")
        if trust is not None:
            show_reliability(trust)
            if travel is None:
                _warn(trust.procedures)
        _show_reading(reading)
        if back_off:
            replaced = counted(
                len(loaded.files.diagnoses) - known, "distinct diagnosis", "distinct diagnoses"
            )
            remark(f"Known siblings replaced {replaced} that the model does not know.")
        if counts is not None:
            _show_projection(counts, back_off)
        if travel is not None:
            _show_travel(travel)
    if plot is not None and trust is not None:
        from dx2px.report.reliability import save_reliability

        save_reliability(trust, plot)
        remark(f"The reliability plot is in {plot}.")


def _reliability(model: Model, rows: Ragged, procedures: Ragged) -> Reliability | None:
    """How far the probabilities can be trusted on these stays; None if the model has no calibration."""
    from dx2px.scoring.reliability import reliability

    calibration = model.files.calibration
    if calibration is None:
        return None
    return reliability(calibration, model.scorer.scores, rows, procedures)


def show_reliability(trust: Reliability) -> None:
    """Print calibration error and slope, and how much the sets of each coverage held."""
    rows = [
        [pairs, f"{one.ece:.4f}", "–" if one.slope is None else f"{one.slope:.2f}"]
        for pairs, one in (("all procedures", trust.all), ("first ten per stay", trust.top))
    ]
    print_table("Calibration (0 is the best error, 1 the best slope)", ["", "expected error", "slope"], rows)
    _show_procedures(trust.procedures)
    sets = [[f"{one.target:.0%}", f"{one.recall:.1%}", f"{one.set_size:.1f}"] for one in trust.coverage]
    columns = ["share asked for", "share held", "procedures per set"]
    print_table("Sets made to hold a share of a stay's procedures (recommend --coverage)", columns, sets)


def _show_procedures(found: PerProcedure) -> None:
    """How right the probabilities are procedure by procedure, in a few lines."""
    from dx2px.scoring.per_procedure import NOTICED

    rows: list[list[Any]] = [["log loss per stay", f"{found.log_loss:.3f}"]]
    if found.mean_gap is not None and found.by_chance is not None:
        gap = f"{100 * found.mean_gap:.1f} points (by chance {100 * found.by_chance:.1f})"
        rows.append([f"predicted and observed differ at {NOTICED:.0%} and more, mean", gap])
    if found.expected_over_observed is not None and found.ratio_by_chance is not None:
        ratios, chance = (
            f"{low:.2f} to {high:.2f}" for low, high in (found.expected_over_observed, found.ratio_by_chance)
        )
        rows.append(["expected / observed stays, 5 to 95 % of procedures", f"{ratios} (by chance {chance})"])
    print_table("Procedure by procedure", ["measure", "value"], rows)


def _warn(found: PerProcedure) -> None:
    """Say if single probabilities do not hold, as after learning from a few hundred stays."""
    from dx2px.scoring.travel import RIGHT

    if found.mean_gap is None or found.by_chance is None:
        remark("Too few stays have a probability of 30 % or more to tell whether these hold.")
    elif found.mean_gap - found.by_chance > RIGHT:
        remark(
            f"Probabilities of 30 % and more are off by {100 * found.mean_gap:.0f} points procedure by procedure, more "
            "than chance explains: rely on the order, and learn from more stays."
        )


def show_metrics(metrics: Metrics, title: str) -> None:
    """Print recall, precision and F1 as in the paper's Table 1."""
    names = ("recall", "precision", "f1")
    means = {name: metrics.mean(name) for name in names}
    rows = [[f"top {L}", *(means[name][L] for name in names)] for L in metrics.at]
    print_table(f"{title}: {len(metrics):,} stays", ["", "recall %", "precision %", "F1 %"], rows)


def _show_reading(reading: CohortReading) -> None:
    """What was translated."""
    from dx2px.answers.mapping import mapping_summary

    if reading.mapping:
        remark(mapping_summary(reading.mapping))
    if reading.in_families:
        entries = counted(reading.in_families, "procedure code counts", "procedure codes count")
        remark(f"{entries} as a family of the model.")


def _show_projection(counts: ProjectionCounts, back_off: bool) -> None:
    relatives = " and has no relatives of" if back_off else " (--back-off lets relatives stand in)"
    known = {
        "diagnoses": f"which the model does not know{relatives}",
        "procedures": "which it cannot name",
    }
    for kind, aside in (("diagnoses", counts.diagnoses), ("procedures", counts.procedures)):
        if aside.codes_set_aside:
            remark(
                f"Left out: {aside.codes_set_aside:,} of {aside.codes:,} distinct {kind} "
                f"({aside.entries_set_aside:,} of {aside.entries:,} entries), {known[kind]}."
            )
    remark(
        f"Measured on the {counts.stays_kept:,} of {counts.stays:,} stays that keep a diagnosis and a procedure."
    )


def _show_travel(travel: Travel) -> None:
    """How many of a foreign cohort's codes the model knows, and the verdict."""
    dx, px = travel.diagnoses, travel.procedures
    rows = [
        [f"diagnoses ({dx.entries:,})", *(f"{share:.1%}" for share in (dx.known, dx.stood_in, dx.lost))],
        # A relative of a procedure that is to be found does not help.
        [f"procedures ({px.entries:,})", f"{px.known:.1%}", "–", f"{px.stood_in + px.lost:.1%}"],
    ]
    columns = ["entries of", "known", "a relative is known", "lost"]
    print_table("What the model knows of these codes", columns, rows)
    remark(travel.verdict)
