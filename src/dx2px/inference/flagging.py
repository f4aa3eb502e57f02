"""The core of an audit: which procedures of a block of stays to question, and which diagnoses speak for each.

Axes: i stays, p procedures, f findings, n diagnoses of the findings' stays laid flat, one stretch a finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import ModelError
from dx2px.inference.coupling import CouplingScorer
from dx2px.inference.recommender import Model
from dx2px.inference.scoring import Scorer
from dx2px.inference.segments import Floats
from dx2px.model.defects import (
    AuditSettings,
    Doubles,
    missing_strength,
    unsupported_strength,
    wrong_shares,
)
from dx2px.ragged import Ragged, offsets_of

_AT_ONCE = 256  # stays whose reasons are sought at a time


@dataclass(frozen=True, eq=False)
class Findings:
    """Of several stays: by stay, unsupported before missing, the strongest first."""

    stay: NDArray[np.int64]  # (f,) row of the block
    procedure: NDArray[np.int64]  # (f,)
    missing: NDArray[np.bool_]  # (f,) else unsupported
    strength: Doubles  # (f,)
    probability: Doubles  # (f,)
    rank: NDArray[np.int64]  # (f,) among all procedures, from 1

    def __len__(self) -> int:
        return len(self.stay)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        return self.stay, self.procedure, self.missing, self.strength, self.probability, self.rank

    def take(self, chosen: NDArray[np.integer] | NDArray[np.bool_]) -> Findings:
        return Findings(*(array[chosen] for array in self.arrays))


def joined(parts: Sequence[Findings]) -> Findings:
    """All findings, one part after the other."""
    nothing = np.empty(0, np.int64)
    none = Findings(nothing, nothing, nothing.astype(np.bool_), np.empty(0), np.empty(0), nothing)
    return Findings(*map(np.concatenate, zip(*(part.arrays for part in (none, *parts)), strict=True)))


class Flagger:
    """A calibrated model with the settings of an audit."""

    def __init__(self, model: Model, settings: AuditSettings) -> None:
        if model.files.calibration is None:
            raise ModelError(
                "This model has no calibration, so nothing can be audited with it: train it anew."
            )
        self.model, self.settings = model, settings
        self.shares = wrong_shares(model.files.procedure_counts, len(model.files.procedures))  # (p,)

    def flag(self, scorer: Scorer, rows: Ragged, coded: Ragged) -> Findings:
        """The findings of stays: diagnoses as the scorer's rows, at least one a stay, and coded procedures."""
        scores = scorer.scores(rows)  # (i, p)
        P = self.model.probabilities(scores)
        assert P is not None  # there is a calibration
        is_coded = np.zeros(P.shape, np.bool_)
        is_coded[coded.row_of_entry, coded.values] = True
        strength = missing_strength(P, self.settings.omitted)
        w = np.broadcast_to(self.shares, P.shape)[is_coded]
        strength[is_coded] = unsupported_strength(P[is_coded], w, self.settings.wrong)
        stay, procedure = np.nonzero(strength >= self.settings.precision)
        place = stay, procedure
        rank = _ranks(scores, stay, procedure)
        found = Findings(stay, procedure, ~is_coded[place], strength[place], P[place], rank)
        return found.take(np.lexsort((procedure, -found.strength, found.missing, stay)))


def reasons(scorer: Scorer, rows: Ragged, found: Findings) -> Doubles:
    """Of each finding, the shares of its stay's diagnoses in the procedure; laid flat, each stretch sums to 1.

    The default method's own weights; for others how much the score falls when a diagnosis is left out. A transport plan
    would not do: it depends on which other procedures are asked about.
    """
    parts = [np.empty(0)]
    for first, last in _stretches(found.stay):
        stays, row = np.unique(found.stay[first:last], return_inverse=True)
        some, procedure = rows.take(stays), found.procedure[first:last]
        if isinstance(scorer, CouplingScorer):
            parts.append(_own_shares(scorer, some, row, procedure))
        else:
            parts.append(_falls(scorer, some, row, procedure))
    return np.concatenate(parts)  # (n,)


def _own_shares(
    scorer: CouplingScorer, rows: Ragged, stay: NDArray[np.int64], procedure: NDArray[np.int64]
) -> Doubles:
    entries, offsets = _entries(rows, stay)
    x = scorer.pairs(rows)[entries, np.repeat(procedure, np.diff(offsets))].astype(np.float64)  # (n,)
    powers = np.exp(x - np.repeat(np.maximum.reduceat(x, offsets[:-1]), np.diff(offsets)))
    return _normalised(powers, offsets)


def _falls(scorer: Scorer, rows: Ragged, stay: NDArray[np.int64], procedure: NDArray[np.int64]) -> Doubles:
    """Falls below zero count as none; where no diagnosis makes the score fall, all have the same share."""
    entries, offsets = _entries(rows, stay)
    repeated = np.repeat(procedure, np.diff(offsets))
    before = scorer.scores(rows)[np.repeat(stay, np.diff(offsets)), repeated].astype(np.float64)
    return _normalised(np.maximum(before - _scores_without(scorer, rows)[entries, repeated], 0), offsets)


def _scores_without(scorer: Scorer, rows: Ragged) -> Floats:
    """Scores of each stay without each of its diagnoses in turn, a row an entry; of a lone one, as it is."""
    lengths = np.repeat(rows.lengths, rows.lengths)  # of the copy that each entry asks for
    copies = rows.take(rows.row_of_entry)
    own = np.arange(len(rows.values)) - np.repeat(rows.offsets[:-1], rows.lengths)
    keep = np.ones(len(copies.values), np.bool_)
    keep[(copies.offsets[:-1] + own)[lengths > 1]] = False
    return scorer.scores(Ragged(offsets_of(np.maximum(lengths - 1, 1)), copies.values[keep]))


def _entries(rows: Ragged, stay: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of the diagnoses of each finding's stay, and where each finding's stretch begins."""
    lengths = rows.lengths[stay]
    offsets = offsets_of(lengths)
    shift = np.repeat(rows.offsets[stay] - offsets[:-1], lengths)
    return shift + np.arange(offsets[-1]), offsets


def _normalised(weights: Doubles, offsets: NDArray[np.int64]) -> Doubles:
    lengths = np.diff(offsets)
    total = np.repeat(np.add.reduceat(weights, offsets[:-1]), lengths)
    even = np.repeat(1 / lengths, lengths)
    return np.where(total > 0, weights / np.where(total > 0, total, 1), even)


def _ranks(scores: Floats, stay: NDArray[np.int64], procedure: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places in the ranking of `top_l`: by falling score, equal ones by rising index."""
    ranks = np.empty(len(stay), np.int64)
    for start in range(0, len(stay), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        theirs, own = scores[stay[part]], scores[stay[part], procedure[part]][:, None]
        ahead = (theirs > own) | ((theirs == own) & (np.arange(scores.shape[1]) < procedure[part][:, None]))
        ranks[part] = 1 + ahead.sum(axis=1)
    return ranks


def _stretches(stay: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Findings of at most `_AT_ONCE` stays at a time, a stay's together; stays ascend."""
    firsts = np.flatnonzero(np.diff(stay, prepend=-1))
    bounds = [*firsts[::_AT_ONCE].tolist(), len(stay)]
    yield from pairwise(bounds)
