"""All that a report tells, measured once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dx2px.codes import chapter
from dx2px.cohort import Cohort, Summary, describe
from dx2px.errors import InputError
from dx2px.evaluation.breakdown import (
    Breakdown,
    Confusion,
    Ranking,
    by_first_diagnosis,
    by_frequency,
    by_procedure,
    confusions,
    rank_stays,
)
from dx2px.evaluation.examples import choose_stays
from dx2px.evaluation.metrics import AT, Metrics, evaluate_ranking
from dx2px.evaluation.neighbourhoods import Sharing, neighbourhoods
from dx2px.evaluation.parts import Measured, measured_part
from dx2px.evaluation.reliability import Reliability, reliability
from dx2px.evaluation.subgroups import SMALLEST, Subgroup, subgroups
from dx2px.inference import Explanation, Model, Neighbors
from dx2px.model.ranking import top_l
from dx2px.report.embedding import CodeMap, LayoutConfig, code_map
from dx2px.report.embedding.families import heading
from dx2px.report.page.landmarks import landmarks

Say = Callable[[str], None]
EXPLAINED = 5  # most probable procedures of a shown stay


@dataclass(frozen=True)
class ReportConfig:
    """What a report holds beside what it always holds."""

    stays: int = 10  # explained ones; 0 for none
    part: str | None = None  # of the cohort; None is the test part of the model's own, all of another
    neighbours: int = 3  # of each kind in the table of well-known codes
    layout: LayoutConfig = field(default_factory=LayoutConfig)

    def __post_init__(self) -> None:
        if self.stays < 0:
            raise InputError(f"The number of explained stays must be 0 or more, not {self.stays}.")


@dataclass(frozen=True, eq=False)
class ShownStay:
    """A stay of the cohort, without its identifier: its codes and what the model makes of them."""

    coded: frozenset[str]
    explanation: Explanation


@dataclass(frozen=True, eq=False)
class Vectors:
    """What is told of a model's vectors."""

    map: CodeMap
    sharing: tuple[Sharing, ...]
    neighbours: tuple[Neighbors, ...]


@dataclass(frozen=True, eq=False)
class Content:
    """The report in numbers; what a model or cohort does not have is None or empty."""

    model: Model
    name: str
    cohort_name: str
    summary: Summary
    measured: Measured
    metrics: Metrics
    popular: Metrics | None
    trust: Reliability | None
    chapters: Breakdown
    procedures: Breakdown
    frequencies: Breakdown | None
    groups: tuple[Subgroup, ...]
    confusions: tuple[Confusion, ...]
    wrong_first: int  # stays whose first-ranked procedure was not coded
    stays: tuple[ShownStay, ...]
    vectors: Vectors | None


def measure(
    model: Model,
    cohort: Cohort,
    config: ReportConfig,
    *,
    name: str,
    cohort_name: str,
    say: Say = lambda message: None,
) -> Content:
    """Measure a model on a part of its own cohort, or on all stays of another."""
    measured = measured_part(model.files, cohort, config.part)
    if len(measured.stays) < SMALLEST:
        raise InputError(f"A report tells no count below {SMALLEST}, so it cannot be made of so few stays.")
    say(f"ranking the procedures of {len(measured.stays):,} stays")
    ranking = rank_stays(model.scorer.scores, measured.stays)
    metrics, counts = ranking.metrics(), model.files.procedure_counts
    say("calibration")
    trust = _trust(model, measured.stays)
    say("the map of the codes")
    vectors = _vectors(model, config)
    say("tables and stays")
    return Content(
        model=model,
        name=name,
        cohort_name=cohort_name,
        summary=describe(cohort),
        measured=measured,
        metrics=metrics,
        popular=None if counts is None else _popular(np.asarray(counts), measured.stays),
        trust=trust,
        chapters=by_first_diagnosis(ranking, heading),
        procedures=by_procedure(ranking, heading),
        frequencies=None if counts is None else by_frequency(ranking, counts),
        groups=tuple(subgroups(metrics, measured.stays)),
        confusions=tuple(confusions(ranking)),
        wrong_first=int((metrics.hits[:, 0] == 0).sum()),
        stays=_stays(model, ranking, config.stays),
        vectors=vectors,
    )


def _trust(model: Model, stays: Cohort) -> Reliability | None:
    calibration = model.files.calibration
    if calibration is None:
        return None
    return reliability(calibration, model.scorer.scores, stays.diagnoses, stays.procedures)


def _popular(counts: np.ndarray, stays: Cohort) -> Metrics:
    """The same most frequent procedures for every stay: what a model must beat."""
    best = top_l(counts[None, :].astype(np.float64), min(max(AT), len(counts)))
    return evaluate_ranking(np.repeat(best, len(stays), axis=0), stays.procedures)


def _stays(model: Model, ranking: Ranking, number: int) -> tuple[ShownStay, ...]:
    files = model.files
    if files.diagnosis_counts is None or files.procedure_counts is None:
        return ()
    counts = (files.diagnosis_counts, files.procedure_counts)
    return tuple(_shown(model, ranking, row) for row in choose_stays(ranking, counts, chapter, number))


def _shown(model: Model, ranking: Ranking, row: int) -> ShownStay:
    """The most probable procedures, then those coded beyond them."""
    stays = ranking.stays
    coded = frozenset(stays.procedures_of(row))
    best = [stays.procedure_vocabulary[int(index)] for index in ranking.best[row, :EXPLAINED]]
    places = ranking.places[stays.procedures.offsets[row] : stays.procedures.offsets[row + 1]]
    in_order = [stays.procedures_of(row)[place] for place in np.argsort(places, kind="stable")]
    asked = [*best, *(code for code in in_order if code not in best)]
    return ShownStay(coded, model.explain(stays.diagnoses_of(row), asked))


def _vectors(model: Model, config: ReportConfig) -> Vectors | None:
    """None for methods without vectors."""
    files = model.files
    if not {"U", "V"} <= files.arrays.keys():
        return None
    near = [model.neighbors(code, config.neighbours) for code in landmarks(files)]
    shared = neighbourhoods(
        files.diagnoses, model.diagnosis_vectors, files.procedures, model.procedure_vectors
    )
    return Vectors(code_map(model, config.layout), tuple(shared), tuple(near))
