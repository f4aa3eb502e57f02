"""What an audit asks of each stay, and what the model answers.

For a model that takes coded procedures as evidence, every question is asked given everything else that is coded: an
absent procedure of the stay as it is, a coded one of the stay without it. Other models answer both from the diagnoses.

Axes: i stays, e coded procedures of all stays laid flat, p procedures, l procedures asked for, v rows asked: the stays
as they are, then the e stays without one procedure each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.ragged import Ragged, joined
from dx2px.scoring.calibration import Calibration
from dx2px.scoring.evidence import layout_of
from dx2px.scoring.scorer import Scorer
from dx2px.scoring.segments import Doubles, Floats

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Questions:
    """Some stays as a scorer is asked about them, with its answers."""

    scorer: Scorer
    stays: Ragged  # (i) the evidence of each, without coded procedures
    coded: Ragged  # (i) the coded procedures
    rows: Ragged  # (v), or (i) if the scorer takes no coded procedures
    scores: Floats  # (v, p) or (i, p)

    @classmethod
    def of(cls, scorer: Scorer, stays: Ragged, coded: Ragged) -> Questions:
        """Ask about stays: their evidence as the scorer's rows, and the procedures coded for each."""
        layout = layout_of(scorer)
        if layout is None:
            return cls(scorer, stays, coded, stays, scorer.scores(stays))
        asked = stays.take(np.concatenate([np.arange(len(stays)), coded.row_of_entry]))
        rows = layout.with_coded(asked, joined([coded, coded.each_left_out()]))
        return cls(scorer, stays, coded, rows, scorer.scores(rows))

    @property
    def without(self) -> Indices:
        """The row that asks about each coded procedure, (e,)."""
        if self.rows is self.stays:
            return self.coded.row_of_entry
        return len(self.stays) + np.arange(len(self.coded.values))

    def absent(self, calibration: Calibration) -> Doubles:
        """The probability of every procedure that is not coded, given all that are, (i, p); of coded ones 0."""
        P = calibration.given_rest(self.scores[: len(self.stays)])
        P[self.coded.row_of_entry, self.coded.values] = 0.0
        return P

    def instead(self, calibration: Calibration, places: Indices, entry: Indices | None = None) -> Doubles:
        """The probabilities of the procedures at `places`, (e, l), given the stay without each coded procedure.

        With `entry`, only for these of the coded procedures, in this order.
        """
        rows = self.without if entry is None else self.without[entry]
        return calibration.given_rest(self.scores[rows], places)
