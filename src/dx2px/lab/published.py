"""Published figures examined: what a table of precision, recall and F1 says of the ranking behind it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

Cells = Mapping[tuple[str, str], float]  # by L and name of the metric, per cent
RANKS = {"1": (0, 1), "2–3": (1, 3), "4–5": (3, 5), "6–10": (5, 10)}
# Printed figures are rounded to 0.1, so a hit rate that follows from two of them is this far off at most.
ROUNDED = {name: 0.05 * (stop + start) / (stop - start) for name, (start, stop) in RANKS.items()}


def hit_rates(cells: Cells) -> dict[str, float]:
    """The mean hit rate of each group of ranks, per cent: P@3 is the mean of ranks 1, 2 and 3, and so on."""
    hits = {0: 0.0} | {int(L): int(L) * cells[L, "precision"] for L in ("1", "3", "5", "10")}
    return {name: (hits[stop] - hits[start]) / (stop - start) for name, (start, stop) in RANKS.items()}


def rises(rates: Mapping[str, float], rounded: bool = True) -> list[str]:
    """The ranks that hit more often than those before them, by more than rounding can explain."""
    slack = ROUNDED if rounded else dict.fromkeys(RANKS, 0.0)
    return [
        after
        for before, after in pairwise(rates)
        if rates[after] - rates[before] > slack[before] + slack[after]
    ]


def nearness(cells: Cells, L: str) -> float:
    """F1 over the harmonic mean of precision and recall.

    A mean of F1 over stays cannot exceed that of the means, and reaches it only where every stay that is hit has the
    same number of procedures.
    """
    recall, precision, f1 = (cells[L, name] for name in ("recall", "precision", "f1"))
    return f1 * (precision + recall) / (2 * precision * recall)
