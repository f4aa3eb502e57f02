"""Which procedures a training step scores, where there are too many to score all of them.

The loss of a stay needs the sum Z = Σ_p exp(score_p) over all procedures. A step takes the procedures of its batch for
certain, and each other one by itself with a probability r_p (`dx2px.scoring.selection`). exp(score_p)/r_p in the place
of exp(score_p) makes a sum whose expectation is Z. So −log r_p is added to the scores of those that were drawn.

Axes: p procedures, c chosen procedures.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.ragged import Ragged
from dx2px.scoring.segments import Floats
from dx2px.scoring.selection import Codes, places_among, rates


@dataclass(frozen=True, eq=False)
class Chosen:
    """The procedures of a step."""

    codes: Codes  # (c,) rising
    correction: Floats  # (c,) −log of the probability that the procedure is among them

    def places(self, codes: NDArray[np.integer]) -> Codes:
        """The place of each of some procedures among the chosen ones; −1 for one that is not chosen."""
        return places_among(self.codes, codes)

    def placed(self, procedures: Ragged) -> Ragged:
        """Lists of procedures, all of them chosen, as places."""
        return Ragged(procedures.offsets, self.places(procedures.values).astype(np.int32))


class Sampling:
    """Draws the procedures of each step: those of its batch, and about `size` of all.

    Args:
        shares: The share of the training stays that have each procedure, (p,).
        size: How many procedures are drawn on average.
    """

    def __init__(self, shares: NDArray[np.floating], size: int) -> None:
        self.rates = rates(shares, size)  # (p,)

    def draw(self, procedures: Ragged, seed: int, step: int) -> Chosen:
        """The procedures of a step, from those of all stays of its batch: a function of seed, step and batch."""
        rng = np.random.Generator(np.random.PCG64([seed, step, 1]))
        taken = rng.random(len(self.rates)) < self.rates
        correction = -np.log(self.rates)
        taken[procedures.values], correction[procedures.values] = True, 0.0
        return Chosen(np.flatnonzero(taken), correction[taken].astype(np.float32))
