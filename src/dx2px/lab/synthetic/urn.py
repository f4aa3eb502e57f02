"""Weighted draws from many urns at once: each draw names an urn and gets one of its codes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Urns:
    """Codes sorted by urn; urn b covers b to b + 1 of one cumulative scale."""

    codes: Ints  # (n,)
    scale: Floats  # (n,) ascending

    @classmethod
    def of(cls, urn: Ints, codes: Ints, weights: Floats) -> Urns:
        """Put each code with its weight into its urn; codes without weight are left out."""
        used = np.flatnonzero(weights > 0)
        used = used[np.argsort(urn[used], kind="stable")]
        urn, codes, weights = urn[used], codes[used], weights[used]
        totals = np.bincount(urn, weights)
        starts = np.searchsorted(urn, urn)  # where the code's urn begins
        running = np.concatenate([[0.0], np.cumsum(weights)])
        scale = urn + np.minimum((running[1:] - running[starts]) / totals[urn], 1.0)
        last = np.append(urn[1:] != urn[:-1], True) if len(urn) else np.empty(0, bool)
        scale[last] = urn[last] + 1.0  # closes the gap left by rounding
        return cls(codes, scale)

    def draw(self, urn: Ints, u: Floats) -> Ints:
        """A code of each named urn, for uniform u in [0, 1). The urns must not be empty."""
        below_next = np.nextafter(urn + 1.0, 0.0)
        drawn: Ints = self.codes[np.searchsorted(self.scale, np.minimum(urn + u, below_next), side="right")]
        return drawn


def stratified(rng: np.random.Generator, urn: Ints) -> Floats:
    """Uniform numbers that are spread evenly over [0, 1) within each urn, in random order.

    Each number by itself is uniform; together they give every code very nearly its expected number of draws, so that
    rare codes do not vanish by chance.
    """
    order = np.lexsort((rng.random(len(urn)), urn))
    sizes = np.bincount(urn)
    starts = np.cumsum(sizes) - sizes
    u = np.empty(len(urn))
    u[order] = np.arange(len(urn)) - starts[urn[order]]
    return (u + rng.random(len(urn))) / sizes[urn]
