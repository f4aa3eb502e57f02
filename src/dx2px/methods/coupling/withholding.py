"""What a training step is told about its stays besides their diagnoses, and which procedures are left to find.

A model must answer from diagnoses alone, from the whole stay, and from anything in between. So part of the stays of a
batch show nothing but their diagnoses, each other fact about a stay is withheld at random, and some of the procedures
of some stays count as coded already.

Axes: i stays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import InputError
from dx2px.ragged import Ragged
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.known import Known

_PLACES = 64  # procedures of a stay after which the random numbers repeat


@dataclass(frozen=True)
class Withholding:
    """How much evidence a training step withholds.

    Attributes:
        alone: Share of the stays that show their diagnoses alone.
        fact: Share of the facts (principal diagnosis, age, sex, admission) that the other stays withhold.
        coded: Share of those stays, if they have several procedures, in which some count as coded.

    Raises:
        InputError: A share is not from 0 to 1.
    """

    alone: float = 0.3
    fact: float = 0.1
    coded: float = 0.6

    def __post_init__(self) -> None:
        if not all(0 <= share <= 1 for share in (self.alone, self.fact, self.coded)):
            raise InputError("model settings: what is withheld must be shares from 0 to 1")

    def draw(
        self,
        layout: EvidenceLayout,
        diagnoses: Ragged,
        procedures: Ragged,
        known: Known,
        rng: np.random.Generator,
    ) -> tuple[Ragged, Ragged]:
        """The rows of evidence that a step shows of each stay, and the procedures that are left to find."""
        draws = rng.random((len(diagnoses), 7 + _PLACES))
        alone = draws[:, 0] < self.alone
        hidden = alone[:, None] | (draws[:, 1:5] < self.fact)
        shown = self._shown(procedures, ~alone & (draws[:, 5] < self.coded), draws[:, 6], draws[:, 7:])
        known = known.without(hidden).with_coded(procedures.filtered(shown))
        return layout.rows(diagnoses, known), procedures.filtered(~shown)

    def _shown(
        self,
        procedures: Ragged,
        some: NDArray[np.bool_],
        share: NDArray[np.float64],
        draws: NDArray[np.float64],
    ) -> NDArray[np.bool_]:
        """Which procedures count as coded: in `some` stays a random share of them, but never all."""
        row, place = procedures.row_of_entry, procedures.place_of_entry
        drawn = draws[row, place % _PLACES]
        shown: NDArray[np.bool_] = some[row] & (drawn < share[row])
        full = np.bincount(row[shown], minlength=len(procedures)) == procedures.lengths
        last = np.zeros(len(procedures))
        np.maximum.at(last, row, drawn)
        shown &= ~(full[row] & (drawn >= last[row]))
        return shown
