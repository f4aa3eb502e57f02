"""The core of an audit: which procedures of a block of stays to question, and what supports each.

Axes: i stays, e coded procedures of all stays laid flat, v rows asked (`dx2px.answers.questions`), p procedures,
f findings, n rows of evidence of the findings' stays laid flat, one stretch per finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dx2px.answers.defects import (
    KINDS,
    AuditSettings,
    Doubles,
    Kind,
    diagnosis_strength,
    omitted_strength,
    swap_strength,
    unsupported_strength,
    wrong_shares,
)
from dx2px.answers.model import Model
from dx2px.answers.questions import Indices, Questions
from dx2px.answers.suggesting import Suggester, best_explained
from dx2px.errors import ModelError
from dx2px.ragged import Ragged, offsets_of
from dx2px.scoring.calibration import Calibration
from dx2px.scoring.evidence import layout_of
from dx2px.scoring.ranking import places
from dx2px.scoring.scorer import Scorer
from dx2px.scoring.shares import shares_of

NOBODY = -1  # where a finding names no other procedure
NEVER = -1.0  # the strength of what is no finding
COMPANION = 0.5  # share of the reason that a coded procedure must have, for the finding to be its companion
_AT_ONCE = 256  # stays whose reasons are computed at a time


@dataclass(frozen=True, eq=False)
class Findings:
    """The findings of several stays."""

    stay: Indices  # (f,) row of the block
    kind: Indices  # (f,) place in `KINDS`
    procedure: Indices  # (f,)
    other: Indices  # (f,) the coded procedure that it is a swap for or a companion of, or `NOBODY`
    strength: Doubles  # (f,)
    probability: Doubles  # (f,)
    row: Indices  # (f,) the row that was asked

    def __len__(self) -> int:
        return len(self.stay)

    @classmethod
    def of(
        cls,
        kind: Kind,
        stay: Indices,
        procedure: Indices,
        strength: Doubles,
        probability: Doubles,
        row: Indices,
    ) -> Findings:
        """Findings of one kind that name no other procedure."""
        kinds = np.full(len(stay), KINDS.index(kind))
        return cls(stay, kinds, procedure, np.full(len(stay), NOBODY), strength, probability, row)

    def take(self, chosen: NDArray[np.integer] | NDArray[np.bool_]) -> Findings:
        return Findings(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def is_kind(self, kind: Kind) -> NDArray[np.bool_]:
        """Which are of this kind, (f,)."""
        found: NDArray[np.bool_] = self.kind == KINDS.index(kind)
        return found

    def in_order(self) -> Findings:
        """By stay, strongest first."""
        return self.take(np.lexsort((self.procedure, self.kind, -self.strength, self.stay)))


def joined(parts: Sequence[Findings]) -> Findings:
    """All findings, one part after the other."""
    no, none = np.empty(0, np.int64), np.empty(0)
    every = (Findings(no, no, no, no, none, none, no), *parts)
    return Findings(*(np.concatenate([getattr(one, f.name) for one in every]) for f in fields(Findings)))


@dataclass(frozen=True, eq=False)
class Flagged:
    """What was asked of some stays, and the findings, each with the shares of the evidence that supports it."""

    questions: Questions
    found: Findings
    shares: Doubles  # (n,) laid flat, each stretch sums to 1

    @property
    def rows(self) -> Ragged:
        """The rows of evidence of each finding, laid flat as `shares`."""
        return self.questions.rows.take(self.found.row)

    def take(self, chosen: NDArray[np.bool_]) -> Flagged:
        """Some of the findings."""
        stretches = np.repeat(chosen, self.questions.rows.lengths[self.found.row])
        return Flagged(self.questions, self.found.take(chosen), self.shares[stretches])

    @cached_property
    def rank(self) -> Indices:
        """The place of each finding's procedure among those that were asked about in its stay, from 1, (f,)."""
        return places(self.questions.scores, self.found.row, self.found.procedure)


class Flagger:
    """A calibrated model with the settings of an audit."""

    def __init__(self, model: Model, settings: AuditSettings) -> None:
        if model.files.calibration is None:
            raise ModelError("This model has no calibration, so it cannot audit: train it again.")
        self.model, self.settings = model, settings
        self.calibration: Calibration = model.files.calibration
        self.shares = wrong_shares(model.files.procedure_counts, len(model.files.procedures))  # (p,)
        self.suggester = Suggester(model)
        # Of each procedure, those that exclude it.
        self.alternatives = _neighbours(self.calibration.alternatives.pairs, len(self.shares))

    def flag(self, scorer: Scorer, stays: Ragged, coded: Ragged) -> Flagged:
        """The findings of stays, by stay and strongest first.

        Args:
            scorer: The model's, or one that also knows headings.
            stays: The evidence of each stay as the scorer's rows, but for coded procedures; at least one diagnosis.
            coded: The procedures coded for each stay.
        """
        return self.findings(Questions.of(scorer, stays, coded))

    def findings(self, asked: Questions) -> Flagged:
        """The findings, from the answers to the questions."""
        found = _explained_otherwise(self.judged(asked, self.settings.precision))
        shares = reasons(asked.scorer, asked.rows, found)
        found = _companions(asked, found, shares)
        wanted = np.isin(found.kind, [KINDS.index(kind) for kind in self.settings.kinds])
        return Flagged(asked, found, shares).take(wanted)

    def judged(self, asked: Questions, least: float) -> Findings:
        """What is at least so strong, by stay: companions count as omitted here, and a coded procedure may be found
        both unsupported and without a diagnosis."""
        wanted = self.settings.kinds
        parts = [self._unsupported(asked)] if {"unsupported", "diagnosis"} & {*wanted} else []
        parts += [self._omitted(asked, least)] if {"omitted", "companion"} & {*wanted} else []
        parts += [self._swaps(asked)] if "swap" in wanted else []
        parts += [self._undiagnosed(asked, least)] if "diagnosis" in wanted else []
        found = joined(parts)
        return found.take(found.strength >= least).in_order()

    def _unsupported(self, asked: Questions) -> Findings:
        stay, procedure = _entries(asked.coded)
        P = asked.instead(self.calibration, procedure[:, None])[:, 0]  # (e,)
        strength = unsupported_strength(P, self.shares[procedure], self.settings.wrong)
        return Findings.of("unsupported", stay, procedure, strength, P, asked.without)

    def _omitted(self, asked: Questions, least: float) -> Findings:
        P = asked.absent(self.calibration)  # (i, p)
        strength = omitted_strength(P, self.settings.omitted)
        strength[asked.coded.row_of_entry, asked.coded.values] = NEVER
        entry, excluded = _entries(self.alternatives.take(asked.coded.values))
        strength[asked.coded.row_of_entry[entry], excluded] = NEVER  # these would be swaps
        stay, procedure = place = np.nonzero(strength >= least)
        return Findings.of("omitted", stay, procedure, strength[place], P[place], stay)

    def _swaps(self, asked: Questions) -> Findings:
        """One per absent procedure: for the coded alternative that makes it strongest."""
        stay, coded = _entries(asked.coded)
        excluded = self.alternatives.take(coded)
        entry, procedure = _entries(excluded)
        asked_for = np.stack([procedure, coded[entry]], axis=1)
        P, own = asked.instead(self.calibration, asked_for, entry).T
        strength = swap_strength(P, own, self.alternatives.lengths[procedure], self.settings.omitted)
        found = Findings.of("swap", stay[entry], procedure, strength, P, asked.without[entry])
        found = replace(found, other=coded[entry]).take(
            ~asked.coded.indicator(len(self.shares))[stay[entry], procedure]
        )
        order = np.lexsort((-found.strength, found.procedure, found.stay))
        keys = (found.stay * len(self.shares) + found.procedure)[order]
        return found.take(order[np.diff(keys, prepend=-1) > 0])

    def _undiagnosed(self, asked: Questions, least: float) -> Findings:
        stay, procedure = _entries(asked.coded)
        best = best_explained(self.calibration, asked.scorer, asked.stays, stay, procedure)  # (e,)
        shares, settings = self.shares[procedure], self.settings
        strength = diagnosis_strength(best, shares, settings.omitted, settings.wrong)
        entry = np.flatnonzero(strength >= least)
        P = asked.instead(self.calibration, procedure[entry, None], entry)[:, 0]
        found = stay[entry], procedure[entry], strength[entry], P, asked.without[entry]
        return Findings.of("diagnosis", *found)


def reasons(scorer: Scorer, rows: Ragged, found: Findings) -> Doubles:
    """The shares of the evidence in the procedure of each finding; laid flat, each stretch sums to 1."""
    parts = [np.empty(0)]
    for first, last in _stretches(found.stay):
        asked, row = np.unique(found.row[first:last], return_inverse=True)
        parts.append(shares_of(scorer, rows.take(asked), row, found.procedure[first:last]))
    return np.concatenate(parts)  # (n,)


def _explained_otherwise(found: Findings) -> Findings:
    """Without procedures that are unsupported by anything among those that no diagnosis explains."""
    keys = found.stay * (found.procedure.max(initial=0) + 1) + found.procedure
    unsupported = np.isin(keys, keys[found.is_kind("unsupported")])
    return found.take(~(found.is_kind("diagnosis") & unsupported))


def _companions(asked: Questions, found: Findings, shares: Doubles) -> Findings:
    """Omitted procedures for which a coded one is most of the reason become its companions."""
    layout = layout_of(asked.scorer)
    if layout is None or not len(found):
        return found
    rows = asked.rows.take(found.row)
    _, coded, context = layout.starts
    is_coded = (rows.values >= coded) & (rows.values < context)
    heavy = np.flatnonzero(is_coded & (shares > COMPANION))  # at most one per finding
    place = rows.row_of_entry[heavy]
    heavy, place = heavy[found.is_kind("omitted")[place]], place[found.is_kind("omitted")[place]]
    kind, other = found.kind.copy(), found.other.copy()
    kind[place], other[place] = KINDS.index("companion"), rows.values[heavy] - coded
    return replace(found, kind=kind, other=other)


def _entries(rows: Ragged) -> tuple[Indices, Indices]:
    """The row and the value of each entry."""
    return rows.row_of_entry, rows.values.astype(np.int64)


def _neighbours(pairs: NDArray[np.int64], size: int) -> Ragged:
    """The alternatives of each procedure."""
    both = np.concatenate([pairs, pairs[:, ::-1]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    return Ragged(offsets_of(np.bincount(both[:, 0], minlength=size)), both[:, 1])


def _stretches(stay: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Findings of at most `_AT_ONCE` stays at a time, those of a stay together; stays ascend."""
    firsts = np.flatnonzero(np.diff(stay, prepend=-1))
    bounds = [*firsts[::_AT_ONCE].tolist(), len(stay)]
    yield from pairwise(bounds)
