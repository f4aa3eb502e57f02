"""A model's audit under test: how strong its findings are in stays as they are, and in stays with planted mistakes.

Axes: i stays, p procedures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dx2px.answers import Model
from dx2px.answers.defects import KINDS, AuditSettings, Kind
from dx2px.answers.flagging import NEVER, Flagger
from dx2px.answers.questions import Questions
from dx2px.cohort import Cohort
from dx2px.lab.planted_mistakes import Indices, Marks, Mistakes, coded_procedures
from dx2px.ragged import Ragged, offsets_of
from dx2px.scoring.cohort_evidence import stay_rows
from dx2px.scoring.metrics import BATCH
from dx2px.scoring.segments import Doubles

_STRONGEST = 50  # findings per 100 stays that are kept to set thresholds by
_ANY = 1e-12  # the strength that every finding reaches
_BY_PROCEDURE = 5  # findings per 100 stays
LEAST_REMOVED = 11  # of a procedure, to report on it


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
class ProcedureRecall:
    """How many of the removed ones of a procedure are found at five findings per 100 stays."""

    code: str
    removed: int
    found: int


class AuditSubject:
    """The audit of a model on some stays."""

    def __init__(self, model: Model, tested: Cohort, settings: AuditSettings, *, alone: bool = False) -> None:
        self.model, self.tested, self.alone = model, tested, alone
        self.flagger = Flagger(model, replace(settings, kinds=KINDS))
        self.coded = coded_procedures(tested)  # (i, p)
        self._unchanged: dict[Kind, Doubles] = {}

    def asked(self, stays: Cohort, coded: Marks) -> Iterator[tuple[int, Questions]]:
        """What is asked of stays in which this is coded, (i, p), block by block, each with its first stay."""
        rows, scorer = stay_rows(self.model.scorer, stays), self.model.scorer
        written = Ragged(offsets_of(coded.sum(axis=1)), np.nonzero(coded)[1].astype(np.int32))
        starts = range(0, len(stays), BATCH)
        for start, some, own in zip(starts, rows.blocks(BATCH), written.blocks(BATCH), strict=True):
            if self.alone:
                yield start, Questions(scorer, some, own, some, scorer.scores(some))
            else:
                yield start, Questions.of(scorer, some, own)

    def strengths(self, kind: Kind, stays: Cohort, coded: Marks) -> Doubles:
        """How strong a finding of this kind each procedure would be, (i, p); `NEVER` where it is none."""
        flagger = Flagger(self.model, replace(self.flagger.settings, kinds=(kind,)))
        strengths = np.full(coded.shape, NEVER)
        for start, asked in self.asked(stays, coded):
            found = flagger.judged(asked, _ANY)
            found = found.take(found.is_kind(kind))
            strengths[start + found.stay, found.procedure] = found.strength
        return strengths

    def unchanged(self, kind: Kind) -> Doubles:
        """The strengths in the stays as they are, (i, p)."""
        if kind not in self._unchanged:
            self._unchanged[kind] = self.strengths(kind, self.tested, self.coded)
        return self._unchanged[kind]

    def compared(self, mistakes: Mistakes) -> tuple[Strengths, Strengths]:
        """The findings of the same kind in the stays as they are, strongest first, and the planted mistakes."""
        unchanged = self.unchanged(mistakes.kind)
        stay, procedure = np.nonzero(unchanged > NEVER)
        count = _STRONGEST * len(self.coded) // 100 + 1
        clean = Strengths(stay, unchanged[stay, procedure]).strongest(count)
        after = self.strengths(mistakes.kind, mistakes.stays(self.tested), mistakes.coded(self.coded))
        return clean, Strengths(mistakes.stay, after[mistakes.stay, mistakes.procedure])

    def suggested(self, mistakes: Mistakes) -> float:
        """Per cent of the left-out diagnoses that are among those suggested for the procedures they explain."""
        codes, own = self.model.files.diagnoses, mistakes.stays(self.tested).diagnoses
        hits = [
            codes[lost]
            in {one.code for one in self.flagger.suggester.suggested(p, [codes[d] for d in own[stay]])}
            for stay, p, lost in zip(
                mistakes.stay.tolist(), mistakes.procedure.tolist(), mistakes.diagnosis.tolist(), strict=True
            )
        ]
        return 100 * float(np.mean(hits)) if hits else 0.0

    def swaps_among_omitted(self, excludes: Marks) -> float:
        """Per cent of the omitted procedures found for which one that excludes it is coded, (p, p)."""
        strong = self.unchanged("omitted") >= self.flagger.settings.precision
        swapped = strong & (self.coded.astype(np.float32) @ excludes > 0)
        return 100 * float(swapped.sum() / max(strong.sum(), 1))

    def by_procedure(self, mistakes: Mistakes) -> tuple[ProcedureRecall, ...]:
        """For each procedure that was removed often enough, how many are found; the most found first."""
        clean, planted = self.compared(mistakes)
        budget = _BY_PROCEDURE * len(self.coded) // 100
        found = planted.strength > clean.strength[min(budget, len(clean.strength) - 1)]
        size = self.coded.shape[1]
        number, hits = (
            np.bincount(mistakes.procedure[some], minlength=size) for some in (slice(None), found)
        )
        order = [p for p in np.argsort(-hits, kind="stable").tolist() if number[p] >= LEAST_REMOVED]
        codes = self.model.files.procedures
        return tuple(ProcedureRecall(codes[p], int(number[p]), int(hits[p])) for p in order)

    @cached_property
    def _expected(self) -> tuple[Doubles, Doubles]:
        """Of each procedure, in stays with others: how many of those asked about should belong, and how many do."""
        expected, number = np.zeros(self.coded.shape[1]), np.zeros(self.coded.shape[1])
        for _, asked in self.asked(self.tested, self.coded):
            several = asked.coded.lengths > 1
            procedure = asked.coded.values.astype(np.int64)
            some = several[asked.coded.row_of_entry]
            P = asked.instead(self.flagger.calibration, procedure[:, None])[:, 0]
            expected += asked.absent(self.flagger.calibration)[asked.coded.lengths > 0].sum(axis=0)
            expected += np.bincount(procedure[some], P[some], len(expected))
            number += np.bincount(procedure[some], minlength=len(number))
        return expected, number

    def gap(self) -> float:
        """Per cent of the coded procedures by which the expected numbers miss them, procedure by procedure."""
        expected, number = self._expected
        return 100 * float(np.abs(expected - number).sum() / max(number.sum(), 1))


def recall_within(clean: Strengths, planted: Strengths, per_100: float, weights: Doubles) -> float:
    """The weighted share of planted mistakes above the budget's threshold; ties are shared out evenly.

    What is no finding is never above it.

    `clean` is sorted by falling strength; `weights` says how often each stay counts.
    """
    budget = per_100 / 100 * weights.sum()
    used = np.cumsum(weights[clean.stay])
    place = int(np.searchsorted(used, budget))
    threshold = clean.strength[place] if place < len(used) else NEVER
    w = weights[planted.stay]
    above, at = (clean.strength > threshold, clean.strength == threshold)
    tied = weights[clean.stay][at].sum()
    share = min((budget - weights[clean.stay][above].sum()) / tied, 1.0) if tied else 0.0
    found = w[planted.strength > threshold].sum() + share * w[planted.strength == threshold].sum()
    return float(found / w.sum())
