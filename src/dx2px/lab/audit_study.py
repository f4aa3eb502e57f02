"""How many planted mistakes an audit finds, on stays that the model did not learn from.

The audit is the one that users run: `Flagger` says how strong the finding of each procedure is, before and after a
mistake is planted (`planted_mistakes` has the kinds).

A budget is a number of findings per 100 stays in which nothing was planted: the false alarms that one is ready to look
through, though some of them may be real mistakes in the data. Recall is the share of planted mistakes that are stronger
than the weakest finding within the budget, so no rate of mistakes has to be assumed. Intervals come from resampling
stays.

Axes: i stays, p procedures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.answers import Model
from dx2px.answers.defects import AuditSettings
from dx2px.answers.flagging import Flagger
from dx2px.cohort import Cohort
from dx2px.lab.bootstrap import Interval, Resamples
from dx2px.lab.planted_mistakes import KINDS, Indices, Marks, Mistakes, coded_procedures
from dx2px.ragged import Ragged, offsets_of
from dx2px.scoring.cohort_evidence import stay_rows
from dx2px.scoring.metrics import BATCH
from dx2px.scoring.segments import Doubles, Floats

BUDGETS = (1, 5, 10)
PRECISIONS = (0.05, 0.1, 0.2, 0.3, 0.5)
RESAMPLES, ROUNDS = 200, 20
_STRONGEST = 50  # findings per 100 stays that are kept to set thresholds by


@dataclass(frozen=True, eq=False)
class Strengths:
    """Strengths of findings, each with its stay."""

    stay: Indices
    strength: Doubles

    def strongest(self, count: int) -> Strengths:
        """So many of them, by falling strength."""
        order = np.argsort(-self.strength, kind="stable")[:count]
        return Strengths(self.stay[order], self.strength[order])


@dataclass(frozen=True)
class Recall:
    """The share of planted mistakes found within a budget, in per cent, with its interval."""

    defect: str
    per_100: int
    recall: float
    low: float
    high: float


@dataclass(frozen=True)
class Precision:
    """The share of mistakes among findings of at least the stated strength, planted at the rates of the settings."""

    kind: str
    stated: float
    measured: float | None  # None if there was no finding
    per_100: float  # findings per 100 stays


@dataclass(frozen=True)
class AuditStudy:
    """What was measured of one model."""

    method: str
    stays: int
    recalls: tuple[Recall, ...]
    precisions: tuple[Precision, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def audit_study(
    model: Model,
    tested: Cohort,
    training: Cohort,
    settings: AuditSettings | None = None,
    *,
    seed: int = 0,
) -> AuditStudy:
    """Measure the audit of a model on test stays. The seed decides the mistakes, so every model meets the same ones."""
    subject = _Subject.of(Flagger(model, settings or AuditSettings()), tested)
    resamples = Resamples.draw(len(tested), [seed, *b"resamples"], RESAMPLES)
    recalls = [
        recall
        for name, plant in KINDS.items()
        for recall in _recalls(name, *subject.compared(plant(tested, training, _rng(seed, name))), resamples)
    ]
    precisions = subject.precisions(_rng(seed, "precision"))
    return AuditStudy(model.files.method, len(tested), tuple(recalls), precisions)


def recall_within(clean: Strengths, planted: Strengths, per_100: float, weights: Doubles) -> float:
    """The weighted share of planted mistakes above the budget's threshold; ties are shared out evenly.

    `clean` is sorted by falling strength; `weights` says how often each stay counts.
    """
    budget = per_100 / 100 * weights.sum()
    used = np.cumsum(weights[clean.stay])
    place = int(np.searchsorted(used, budget))
    threshold = clean.strength[place] if place < len(used) else -np.inf
    w = weights[planted.stay]
    above, at = (clean.strength > threshold, clean.strength == threshold)
    tied = weights[clean.stay][at].sum()
    share = min((budget - weights[clean.stay][above].sum()) / tied, 1.0) if tied else 0.0
    found = w[planted.strength > threshold].sum() + share * w[planted.strength == threshold].sum()
    return float(found / w.sum())


@dataclass(frozen=True, eq=False)
class _Subject:
    """The audit of a model, with the scores of the tested stays and what is coded in them, each (i, p)."""

    flagger: Flagger
    scores: Floats
    coded: Marks

    @classmethod
    def of(cls, flagger: Flagger, tested: Cohort) -> _Subject:
        scorer = flagger.model.scorer
        scores = np.concatenate([scorer.scores(some) for some in stay_rows(scorer, tested).blocks(BATCH)])
        return cls(flagger, scores, coded_procedures(tested))

    def strengths(self, coded: Marks) -> Doubles:
        """What the audit says of every procedure if this is what is coded, (i, p)."""
        rows = Ragged(offsets_of(coded.sum(axis=1)), np.nonzero(coded)[1].astype(np.int32))
        return self.flagger.strengths(self.scores, rows)[1]

    @cached_property
    def unchanged(self) -> Doubles:
        """The strengths in the stays as they are, (i, p)."""
        return self.strengths(self.coded)

    def compared(self, mistakes: Mistakes) -> tuple[Strengths, Strengths]:
        """The findings of the same kind in the stays as they are, strongest first, and the planted mistakes."""
        stay, procedure = np.nonzero(self.coded != mistakes.left_out)
        count = _STRONGEST * len(self.coded) // 100 + 1
        clean = Strengths(stay, self.unchanged[stay, procedure]).strongest(count)
        place = mistakes.stay, mistakes.procedure
        return clean, Strengths(mistakes.stay, self.strengths(mistakes.applied(self.coded))[place])

    def precisions(self, rng: np.random.Generator) -> tuple[Precision, ...]:
        """Findings of both kinds, over rounds of mistakes planted at the rates of the settings."""
        found: dict[str, list[tuple[Doubles, Marks]]] = {"unsupported": [], "missing": []}
        for _ in range(ROUNDS):
            left_out = self.coded & (rng.random(self.coded.shape) < self.flagger.settings.omitted)
            rest = self.coded & ~left_out
            found["missing"].append(self._judged(rest, ~rest, left_out))
            wrong = self._wrong(rng)
            more = self.coded | wrong
            found["unsupported"].append(self._judged(more, more, wrong))
        stays = len(self.coded) * ROUNDS
        return tuple(
            _precision(kind, stated, parts, stays) for kind, parts in found.items() for stated in PRECISIONS
        )

    def _judged(self, coded: Marks, asked: Marks, mistaken: Marks) -> tuple[Doubles, Marks]:
        """The strengths of the findings that matter, and which of them are mistakes."""
        strength = self.strengths(coded)
        strong = asked & (strength >= min(PRECISIONS))
        return strength[strong], mistaken[strong]

    def _wrong(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Procedures added to some stays, drawn with the shares that the strength assumes."""
        shares, added = self.flagger.shares, np.zeros_like(self.coded)
        stays = np.flatnonzero(rng.random(len(self.coded)) < self.flagger.settings.wrong)
        added[stays, rng.choice(len(shares), len(stays), p=shares)] = True
        return added & ~self.coded


def _recalls(defect: str, clean: Strengths, planted: Strengths, resamples: Resamples) -> list[Recall]:
    found = []
    for per_100 in BUDGETS:
        value = recall_within(clean, planted, per_100, np.ones(resamples.times.shape[1]))
        drawn = [recall_within(clean, planted, per_100, weights) for weights in resamples.times]
        one = Interval.of(value, np.array(drawn))
        found.append(Recall(defect, per_100, 100 * one.value, 100 * one.low, 100 * one.high))
    return found


def _precision(kind: str, stated: float, parts: Sequence[tuple[Doubles, Marks]], stays: int) -> Precision:
    mistaken = np.concatenate([wrong[strength >= stated] for strength, wrong in parts])
    measured = float(mistaken.mean()) if len(mistaken) else None
    return Precision(kind, stated, measured, 100 * len(mistaken) / stays)


def _rng(seed: int, name: str) -> np.random.Generator:
    """One stream of draws for each purpose, so that none depends on the others."""
    return np.random.default_rng([seed, *name.encode()])
