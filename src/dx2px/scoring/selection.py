"""Some procedures in the place of all, where there are too many to score all of them.

A sum over all procedures, Σ_p x_p, becomes Σ over the chosen ones of x_p · count_p. A procedure that is chosen for
certain counts once; one that was drawn with a probability r_p counts 1/r_p times, so the expected sum is that over all
(Horvitz and Thompson 1952). The default method trains with such sums (`dx2px.methods.coupling.sampling`) and answers
with them (`dx2px.scoring.candidates`).

r_p grows with the square root of how common a procedure is: a common one has a large part in a sum, and a rare one
must be met now and then.

Axes: p procedures, c chosen procedures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.scoring.segments import Doubles

Codes = NDArray[np.int64]
MANY = 5_000  # procedures from which on some stand for all
SAMPLE = 2_000  # of them that do, besides those that matter most to a batch or a stay
FLOOR = 1e-6  # a share: what is never coded is drawn, too


class Sample:
    """The procedures that stand for all in every stay: those that are drawn at these rates, (p,).

    It keeps its rows of the tables that it is asked for: they lie together, those of the tables do not.
    """

    def __init__(self, rate: Doubles) -> None:
        self.codes, self.counts = evenly_drawn(rate), 1 / rate  # (c,) rising, (p,)
        self.drawn = np.zeros(len(rate), np.bool_)
        self.drawn[self.codes] = True
        self._kept: dict[int, tuple[NDArray[Any], NDArray[Any]]] = {}

    def of(self, table: NDArray[Any]) -> NDArray[Any]:
        """Its rows of a table of all procedures, (c, …), which must not change."""
        if id(table) not in self._kept:
            self._kept[id(table)] = table, table[self.codes]  # with the table, so that no other gets its id
        return self._kept[id(table)][1]

    def beside(self, certain: Codes) -> Selection:
        """The sample, and the procedures of a stay, (·,) rising, each of which counts once."""
        beyond = certain[~self.drawn[certain]]
        codes = np.concatenate([self.codes, beyond])
        order = np.argsort(codes, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        codes = codes[order]
        counts = self.counts[codes]
        counts[np.searchsorted(codes, certain)] = 1.0
        return Selection(codes, counts, self, beyond, place)


@dataclass(frozen=True, eq=False)
class Selection:
    """Procedures that stand for all."""

    codes: Codes  # (c,) rising
    counts: Doubles  # (c,) how many procedures each stands for
    sample: Sample
    beyond: Codes  # what is not of the sample
    place: Codes  # (c,) where the sample, and then what is beyond it, stand among the codes

    def of(self, table: NDArray[Any]) -> NDArray[Any]:
        """The chosen rows of a table of all procedures, (c, …)."""
        sample = self.sample.of(table)
        found = np.empty((len(self.codes), *table.shape[1:]), table.dtype)
        found[self.place[: len(sample)]] = sample
        found[self.place[len(sample) :]] = table[self.beyond]
        return found

    def places(self, codes: NDArray[np.integer]) -> Codes:
        """The place of each of some procedures among the chosen ones; −1 for one that is not chosen."""
        return places_among(self.codes, codes)


def places_among(chosen: Codes, codes: NDArray[Any]) -> Codes:
    """The place of each code in a rising list; −1 for one that is not in it."""
    at = np.minimum(np.searchsorted(chosen, codes), len(chosen) - 1)
    return np.where(chosen[at] == codes, at, -1)


def rates(shares: NDArray[np.floating], size: int) -> Doubles:
    """The probability to be drawn of each procedure, (p,), for about `size` draws, from how common each is."""
    weights = np.sqrt(shares + FLOOR)
    rising = np.sort(weights)
    # With the n heaviest at 1, the others share what is left; the right n is the least that keeps them below 1.
    n = np.arange(len(weights))
    factors = np.maximum(size - n, 0) / np.cumsum(rising)[::-1]
    fits = factors * rising[::-1] <= 1
    factor = factors[np.argmax(fits)] if fits.any() and size < len(weights) else np.inf
    found: Doubles = np.minimum(1.0, factor * weights)
    return found


def evenly_drawn(rate: Doubles) -> Codes:
    """One procedure at each step of the summed rates: each is drawn with its rate, and neighbours hardly ever both.

    Codes that stand together are alike, so every kind of procedure is there in its share. Nothing is random: the same
    rates draw the same procedures.
    """
    sums = np.cumsum(rate) + 0.5
    drawn = np.floor(sums) > np.floor(np.concatenate([[0.5], sums[:-1]]))
    return np.flatnonzero(drawn | (rate >= 1))  # what is certain, whatever the rounding of the sums
