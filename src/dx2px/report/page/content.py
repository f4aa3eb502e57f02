"""Everything a report shows, measured once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from dx2px.answers import Explanation, Model, Neighbors
from dx2px.answers.facts import Facts
from dx2px.codes import Notation, chapter
from dx2px.cohort import Cohort, Summary, describe
from dx2px.errors import InputError
from dx2px.ragged import Ragged
from dx2px.report.breakdown import (
    Breakdown,
    Confusion,
    Ranking,
    by_first_diagnosis,
    by_frequency,
    by_procedure,
    confusions,
    rank_stays,
)
from dx2px.report.embedding import CodeMap, LayoutConfig, code_map
from dx2px.report.embedding.families import heading
from dx2px.report.example_facts import shown_facts
from dx2px.report.examples import choose_stays
from dx2px.report.neighbourhoods import Sharing, neighbourhoods
from dx2px.report.page.landmarks import landmarks
from dx2px.report.page.package import Package, package
from dx2px.scoring.cohort_evidence import stay_rows, told_facts
from dx2px.scoring.measured import Measured, measured_part
from dx2px.scoring.metrics import AT, Metrics, evaluate, evaluate_ranking
from dx2px.scoring.ranking import top_l
from dx2px.scoring.reliability import Reliability, reliability
from dx2px.scoring.subgroups import SMALLEST, Subgroup, subgroups

Say = Callable[[str], None]
EXPLAINED = 5  # best procedures of a shown stay


@dataclass(frozen=True)
class ReportConfig:
    """The choices a user has."""

    stays: int = 10  # to explain; 0 for none
    part: str | None = None  # of the cohort; None: the test part of the model's own cohort, all of another
    neighbours: int = 3  # of each kind, in the table of well-known codes
    layout: LayoutConfig = field(default_factory=LayoutConfig)

    def __post_init__(self) -> None:
        if self.stays < 0:
            raise InputError(f"The number of explained stays must be 0 or more, not {self.stays}.")


@dataclass(frozen=True, eq=False)
class ShownStay:
    """A stay of the cohort, without its identifier: its codes and the model's explanation."""

    coded: frozenset[str]
    explanation: Explanation
    facts: Facts


@dataclass(frozen=True, eq=False)
class Vectors:
    """What a report shows of a model's vectors."""

    map: CodeMap
    sharing: tuple[Sharing, ...]
    neighbours: tuple[Neighbors, ...]


@dataclass(frozen=True, eq=False)
class Content:
    """The report in numbers; what a model or cohort does not have is None or empty."""

    model: Model
    name: str
    cohort_name: str
    names: Notation  # how codes are written
    summary: Summary
    measured: Measured
    metrics: Metrics
    facts: tuple[str, ...]  # what the stays tell besides diagnoses, and the model takes
    codes: Metrics | None  # from diagnoses alone, if the stays tell more
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
    package: Package | None  # beside synthetic stays

    @property
    def synthetic(self) -> bool:
        """Whether no patient is behind the stays."""
        return self.summary.source == "synthetic"


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
        raise InputError(
            f"A report shows no count below {SMALLEST}, and there are fewer stays than that: choose a larger cohort."
        )
    say(f"ranking the procedures of {len(measured.stays):,} stays")
    rows = stay_rows(model.scorer, measured.stays)
    ranking = rank_stays(model.scorer.scores, rows, measured.stays)
    metrics, counts = ranking.metrics(), model.files.procedure_counts
    facts = told_facts(model.scorer, measured.stays)
    say("calibration")
    trust = _trust(model, rows, measured.stays.procedures)
    say("the map of the codes")
    vectors = _vectors(model, config)
    say("tables and stays")
    summary = describe(cohort)
    return Content(
        model=model,
        name=name,
        cohort_name=cohort_name,
        names=_names(model, cohort),
        summary=summary,
        measured=measured,
        metrics=metrics,
        facts=facts,
        codes=_codes(model, measured.stays) if facts else None,
        popular=None if counts is None else _popular(np.asarray(counts), measured.stays),
        trust=trust,
        chapters=by_first_diagnosis(ranking, heading),
        procedures=by_procedure(ranking, heading),
        frequencies=None if counts is None else by_frequency(ranking, counts),
        groups=tuple(subgroups(metrics, measured.stays)),
        confusions=tuple(confusions(ranking)),
        wrong_first=int((metrics.hits[:, 0] == 0).sum()),
        stays=_stays(model, ranking, config),
        vectors=vectors,
        package=package() if summary.source == "synthetic" else None,
    )


def _names(model: Model, cohort: Cohort) -> Notation:
    vocabularies = (model.files.diagnoses, model.files.procedures)
    return Notation.of(chain(*vocabularies, cohort.diagnosis_vocabulary, cohort.procedure_vocabulary))


def _trust(model: Model, rows: Ragged, procedures: Ragged) -> Reliability | None:
    calibration = model.files.calibration
    if calibration is None:
        return None
    return reliability(calibration, model.scorer.scores, rows, procedures)


def _codes(model: Model, stays: Cohort) -> Metrics:
    """How well the model does from diagnoses alone."""
    return evaluate(model.scorer.scores, stay_rows(model.scorer, stays, "codes"), stays.procedures)


def _popular(counts: np.ndarray, stays: Cohort) -> Metrics:
    """Recommend the same most frequent procedures for every stay: what a model must beat."""
    best = top_l(counts[None, :].astype(np.float64), min(max(AT), len(counts)))
    return evaluate_ranking(np.repeat(best, len(stays), axis=0), stays.procedures)


def _stays(model: Model, ranking: Ranking, config: ReportConfig) -> tuple[ShownStay, ...]:
    files = model.files
    if files.diagnosis_counts is None or files.procedure_counts is None:
        return ()
    counts = (files.diagnosis_counts, files.procedure_counts)
    stays = ranking.stays
    rows = choose_stays(ranking, counts, chapter, config.stays)
    facts = shown_facts(model.layout, stays, rows)
    return tuple(_shown(model, stays, row, told) for row, told in zip(rows, facts, strict=True))


def _shown(model: Model, stays: Cohort, row: int, facts: Facts) -> ShownStay:
    """The best procedures, then the other coded ones, best first."""
    diagnoses, coded = stays.diagnoses_of(row), stays.procedures_of(row)
    best = [one.code for one in model.recommend(diagnoses, top=EXPLAINED, **facts).recommendations]
    ranks = {one.code: one.rank or 0 for one in model.explain(diagnoses, coded, **facts).procedures}
    others = sorted((code for code in coded if code not in best), key=lambda code: ranks[code])
    return ShownStay(frozenset(coded), model.explain(diagnoses, [*best, *others], **facts), facts)


def _vectors(model: Model, config: ReportConfig) -> Vectors | None:
    """None if the method has no vectors."""
    files = model.files
    if not {"U", "V"} <= files.arrays.keys():
        return None
    near = [model.neighbors(code, config.neighbours) for code in landmarks(files)]
    shared = neighbourhoods(
        files.diagnoses, model.diagnosis_vectors, files.procedures, model.procedure_vectors
    )
    return Vectors(code_map(model, config.layout), tuple(shared), tuple(near))
