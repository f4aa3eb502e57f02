"""How many planted mistakes an audit finds, on stays that the model did not learn from.

The audit is the one that users run: `Flagger` says how strong each finding is, before and after a mistake is planted
(`planted_mistakes` has the mistakes).

A budget is a number of findings per 100 stays in which nothing was planted: the false alarms that one is ready to look
through, though some of them may be real mistakes in the data. Recall is the share of planted mistakes that are stronger
than the weakest finding within the budget, so no rate of mistakes has to be assumed. Intervals come from resampling
stays. Companions count as omitted in recall; each kind of finding has a budget of its own.

Precision is measured at the rates that the settings state: what share of the findings of a kind are mistakes.

Axes: i stays, p procedures.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dx2px.answers import Model
from dx2px.answers.defects import AuditSettings
from dx2px.cohort import Cohort
from dx2px.lab.audit_precision import Precision, precisions
from dx2px.lab.audit_subject import AuditSubject, ProcedureRecall, Strengths, recall_within
from dx2px.lab.bootstrap import Interval, Resamples
from dx2px.lab.planted_mistakes import KINDS, explaining, siblings

BUDGETS = (1, 5, 10)
RESAMPLES = 200


@dataclass(frozen=True)
class Recall:
    """The share of planted mistakes found within a budget, in per cent, with its interval."""

    defect: str
    per_100: int
    recall: float
    low: float
    high: float


@dataclass(frozen=True)
class AuditStudy:
    """What was measured of one model."""

    method: str
    stays: int
    recalls: tuple[Recall, ...]
    precisions: tuple[Precision, ...]
    suggested: float  # per cent of left-out diagnoses that are among the suggested ones
    swaps_among_omitted: float  # per cent of omitted findings for which a sibling that excludes it is coded
    calibration_gap: float  # per cent: how far a procedure's expected number is from that coded, on average
    procedures: tuple[ProcedureRecall, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def audit_study(
    model: Model,
    tested: Cohort,
    training: Cohort,
    settings: AuditSettings | None = None,
    *,
    seed: int = 0,
    alone: bool = False,
) -> AuditStudy:
    """Measure the audit of a model on test stays.

    Args:
        model: The model.
        tested: Stays that it did not learn from.
        training: Those it learned from.
        settings: The rates of mistakes that are assumed, and planted.
        seed: Decides the mistakes, so every model meets the same ones.
        alone: Ask every question from the diagnoses alone, whatever the model takes.
    """
    subject = AuditSubject(model, tested, settings or AuditSettings(), alone=alone)
    resamples = Resamples.draw(len(tested), [seed, *b"resamples"], RESAMPLES)
    planted = {name: plant(tested, training, _rng(seed, name)) for name, plant in KINDS.items()}
    recalls = [
        recall
        for name, mistakes in planted.items()
        if len(mistakes.stay)
        for recall in _recalls(name, *subject.compared(mistakes), resamples)
    ]
    return AuditStudy(
        f"{model.files.method}, diagnoses alone" if alone else model.files.method,
        len(tested),
        tuple(recalls),
        tuple(precisions(subject, explaining(tested, training), _rng(seed, "precision"))),
        subject.suggested(planted["diagnosis"]),
        subject.swaps_among_omitted(siblings(training)),
        subject.gap(),
        subject.by_procedure(planted["removed"]),
    )


def _recalls(defect: str, clean: Strengths, planted: Strengths, resamples: Resamples) -> list[Recall]:
    found = []
    for per_100 in BUDGETS:
        value = recall_within(clean, planted, per_100, np.ones(resamples.times.shape[1]))
        drawn = [recall_within(clean, planted, per_100, weights) for weights in resamples.times]
        one = Interval.of(value, np.array(drawn))
        found.append(Recall(defect, per_100, 100 * one.value, 100 * one.low, 100 * one.high))
    return found


def _rng(seed: int, name: str) -> np.random.Generator:
    """One stream of draws for each purpose, so that none depends on the others."""
    return np.random.default_rng([seed, *name.encode()])
