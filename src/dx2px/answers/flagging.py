"""The core of an audit: which procedures of a block of stays to question, and which diagnoses support each.

Axes: i stays, p procedures, f findings, n diagnoses of the findings' stays laid flat, one stretch per finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.answers.defects import (
    AuditSettings,
    Doubles,
    missing_strength,
    unsupported_strength,
    wrong_shares,
)
from dx2px.answers.model import Model
from dx2px.errors import ModelError
from dx2px.ragged import Ragged
from dx2px.scoring.ranking import places
from dx2px.scoring.scorer import Scorer
from dx2px.scoring.segments import Floats
from dx2px.scoring.shares import shares_of

_AT_ONCE = 256  # stays whose reasons are computed at a time


@dataclass(frozen=True, eq=False)
class Findings:
    """The findings of several stays: by stay, unsupported before missing, strongest first."""

    stay: NDArray[np.int64]  # (f,) row of the block
    procedure: NDArray[np.int64]  # (f,)
    missing: NDArray[np.bool_]  # (f,) otherwise unsupported
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
            raise ModelError("This model has no calibration, so it cannot audit: train it again.")
        self.model, self.settings = model, settings
        self.shares = wrong_shares(model.files.procedure_counts, len(model.files.procedures))  # (p,)

    def strengths(self, scores: Floats, coded: Ragged) -> tuple[Doubles, Doubles, NDArray[np.bool_]]:
        """How strongly each procedure of each stay is to be questioned.

        Args:
            scores: Of all procedures, (i, p).
            coded: The procedures coded for each stay.

        Returns:
            The probability of each procedure given the diagnoses; the strength of the finding that it would be
            (unsupported if it is coded, missing if not); and whether it is coded. Each is (i, p).
        """
        P = self.model.probabilities(scores)
        assert P is not None  # there is a calibration
        is_coded = coded.indicator(P.shape[1])
        strength = missing_strength(P, self.settings.omitted)
        w = np.broadcast_to(self.shares, P.shape)[is_coded]
        strength[is_coded] = unsupported_strength(P[is_coded], w, self.settings.wrong)
        return P, strength, is_coded

    def flag(self, scorer: Scorer, rows: Ragged, coded: Ragged) -> Findings:
        """The findings of stays: diagnoses as the scorer's rows, at least one per stay, and coded procedures."""
        scores = scorer.scores(rows)  # (i, p)
        P, strength, is_coded = self.strengths(scores, coded)
        stay, procedure = place = np.nonzero(strength >= self.settings.precision)
        rank = places(scores, stay, procedure)
        found = Findings(stay, procedure, ~is_coded[place], strength[place], P[place], rank)
        return found.take(np.lexsort((procedure, -found.strength, found.missing, stay)))


def reasons(scorer: Scorer, rows: Ragged, found: Findings) -> Doubles:
    """The shares of its stay's diagnoses in the procedure of each finding; laid flat, each stretch sums to 1."""
    parts = [np.empty(0)]
    for first, last in _stretches(found.stay):
        stays, row = np.unique(found.stay[first:last], return_inverse=True)
        parts.append(shares_of(scorer, rows.take(stays), row, found.procedure[first:last]))
    return np.concatenate(parts)  # (n,)


def _stretches(stay: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Findings of at most `_AT_ONCE` stays at a time, those of a stay together; stays ascend."""
    firsts = np.flatnonzero(np.diff(stay, prepend=-1))
    bounds = [*firsts[::_AT_ONCE].tolist(), len(stay)]
    yield from pairwise(bounds)
