"""Answers without scoring all procedures, for models of the default method that have very many: from `MANY` on.

The score of a procedure is a sum over the rows of a stay, log Σ_d exp(h_d·v_p + s_d) + b_p. So the best of a stay are
among the best of its rows, and each row has a list: the procedures that it lifts highest in a stay that has nothing
else. A list is made when its row is first met, by one pass over all procedures, and kept.

A stay is answered from

    the lists of its rows, and the coded procedures    each counts once
    the procedures that heads hear                     `dx2px.scoring.head`; each counts once
    an even sample of all, the same for every stay     it stands for the others in sums (`dx2px.scoring.selection`)

by the formulas of `CouplingScorer` and `Calibration`, over fewer columns. Scores of these procedures are those of the
full computation up to rounding. Significance and probabilities hold sums over all procedures, and differ a little:
docs/scale.md has by how much.

Axes: p procedures, c those that a stay is answered from, m dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dx2px.ragged import Ragged
from dx2px.scoring.calibration import Calibration
from dx2px.scoring.coupling import CouplingScorer
from dx2px.scoring.factor import Factor, Once, Right
from dx2px.scoring.folder import ModelFiles
from dx2px.scoring.scorer import Scorer
from dx2px.scoring.segments import Floats
from dx2px.scoring.selection import MANY, SAMPLE, Codes, Sample, Selection, rates

LISTED = 150  # procedures in the list of a row
MANY_IN_FILES = 10_000  # from which on stays of files are, too: with fewer, whole blocks of stays cost less
TOP = 20  # the most that may be asked of an answer: the lists were examined so far
MOST_HEARD = 4_000  # where heads hear more procedures than this, too little is saved
_AT_ONCE = 64  # lists made in one pass


@dataclass(frozen=True, eq=False)
class Narrowed:
    """A model as a single stay needs it: what scores it, over some of the procedures."""

    chosen: Selection
    scorer: CouplingScorer
    calibration: Calibration | None


class Candidates:
    """The lists of a model's rows, of so many procedures each, and its sample. Several threads may ask at once."""

    def __init__(
        self,
        scorer: CouplingScorer,
        V: Floats,
        calibration: Calibration | None,
        length: int | None = None,
    ) -> None:
        self.scorer, self.calibration, self.V = scorer, calibration, V
        self._lists = np.empty((len(scorer.U), min(length or LISTED, len(V))), np.int32)
        self._made = np.zeros(len(scorer.U), np.bool_)

    @classmethod
    def of(cls, files: ModelFiles, scorer: Scorer) -> Candidates | None:
        """Of a model and a scorer of its procedures; None where all are to be scored."""
        if not isinstance(scorer, CouplingScorer) or len(files.procedures) < MANY:
            return None
        found = cls(scorer, files.arrays["V"], files.calibration)
        return found if len(found.heard) <= MOST_HEARD else None

    def narrowed(self, stay: Ragged) -> Narrowed:
        """What answers a single stay, given as its rows."""
        coded = self.scorer.coded_in(stay)[1]
        certain = np.sort(np.concatenate([self.listed(stay.values).reshape(-1), coded]))
        chosen = self._sample.beside(certain[np.diff(certain, prepend=-1) > 0])
        targets = _Targets(chosen, self._factor, Once(self.V[chosen.beyond]))
        some = len(coded) > 0
        scorer = self.scorer.narrowed(chosen, targets, some)
        stage = None if self.calibration is None else self.calibration.narrowed(chosen, some)
        return Narrowed(chosen, scorer, stage)

    def listed(self, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """The lists of some rows, (n, l); those that are not there yet are made."""
        missing = rows[~self._made[rows]]
        for start in range(0, len(missing), _AT_ONCE):
            some = missing[start : start + _AT_ONCE]
            heights = self.scorer.alone(some)
            width = self._lists.shape[1]
            self._lists[some] = np.argpartition(-heights, width - 1, axis=1)[:, :width]
            self._made[some] = True  # only now: another thread may look
        return self._lists[rows]

    @cached_property
    def heard(self) -> Codes:
        """The procedures that some head hears."""
        stage = self.calibration
        corrections = () if stage is None else (stage.completion, stage.partial)
        heads = [one.head for one in corrections if one is not None]
        heads += [] if stage is None else [stage.head]
        return np.unique(
            np.concatenate([np.empty(0, np.int64), *(one.hears for one in heads if one is not None)])
        )

    @cached_property
    def _sample(self) -> Sample:
        levels = np.exp(self.scorer.b.astype(np.float64) - self.scorer.b.max())
        rate = rates(levels / levels.sum(), SAMPLE)
        rate[self.heard] = 1.0
        return Sample(rate)

    @cached_property
    def _factor(self) -> Factor:
        return Factor(self.V[self._sample.codes].T)


class _Targets(Right):
    """The vectors of chosen procedures, (m, c); those of the sample are cut up for products once for all stays."""

    def __init__(self, chosen: Selection, sample: Factor, beyond: Once) -> None:
        self._chosen, self._sample, self._beyond = chosen, sample, beyond

    def product(self, left: Floats, plus: Floats | None = None) -> Floats:
        place, size = self._chosen.place, len(self._chosen.sample.codes)
        found = np.empty((len(left), len(place)), np.float32)
        found[:, place[:size]] = self._sample.product(left, plus)
        found[:, place[size:]] = self._beyond.product(left, plus)
        return found
