"""Rising curves of straight pieces, which end level instead of becoming certain.

Axes: k knots.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dx2px.scoring.segments import Doubles

BELOW, ABOVE = 8.0, 2.0  # how far, in log odds, a curve may continue beyond its first and its last knot
_OUTERMOST = (
    20.0  # and how often the rise of its first or last piece: a flat piece says nothing of what lies beyond
)


@dataclass(frozen=True, eq=False)
class Curve:
    """Straight pieces between knots. Beyond them it rises ever more slowly, so that no answer is certain."""

    x: Doubles  # (k,) rising
    y: Doubles  # (k,) rising

    def __call__(self, values: Doubles) -> Doubles:
        out: Doubles = np.interp(values, self.x, self.y)
        first, last = self._ends
        if values.max(initial=-np.inf) > self.x[-1]:
            above = values > self.x[-1]
            out[above] += _flattening((values[above] - self.x[-1]) * last[0], last[1])
        if values.min(initial=np.inf) < self.x[0]:
            below = values < self.x[0]
            out[below] -= _flattening((self.x[0] - values[below]) * first[0], first[1])
        return out

    @cached_property
    def _ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The slope of the first piece and of the last, and how far the curve may continue beyond each."""
        rises, widths = np.diff(self.y)[[0, -1]].tolist(), np.diff(self.x)[[0, -1]].tolist()
        limits = (min(most, _OUTERMOST * rise) for most, rise in zip((BELOW, ABOVE), rises, strict=True))
        first, last = (
            (rise / width, limit) for rise, width, limit in zip(rises, widths, limits, strict=True)
        )
        return first, last

    def to_dict(self) -> dict[str, list[float]]:
        return {"x": self.x.tolist(), "y": self.y.tolist()}


def _flattening(rise: Doubles, limit: float) -> Doubles:
    """Rises like `rise` at first, and stays below `limit`."""
    flat: Doubles = -limit * np.expm1(-rise / limit)
    return flat
