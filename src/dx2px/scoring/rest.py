"""What changes once a stay is finished: the coded procedures, R, are all that it has but, perhaps, the one asked about.

With z'_p the log odds of a stay that is still being coded (`dx2px.scoring.correction`):

    y_p = k_p z'_p + a_p + Σ_{r∈R} A_r · B_p,  log odds slope · y_p + shift

It is what an audit asks (`dx2px.answers.questions`). `dx2px.scoring.beside` has the sum; `dx2px.training.fit_rest` fits
the numbers.

Axes: i stays, p procedures, l procedures asked for, f factors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.scoring.beside import Beside
from dx2px.scoring.methods import Layout
from dx2px.scoring.segments import Doubles, Floats

REST: Layout = {
    "rest_k": ("procedure",),
    "rest_a": ("procedure",),
    "rest_A": ("procedure", "rest factor"),
    "rest_B": ("procedure", "rest factor"),
}
MOST = 30.0  # log odds: e³⁰ to one is as certain as an answer may be


@dataclass(frozen=True, eq=False)
class Rest:
    """The log odds of a procedure if the coded ones are all others that a stay has."""

    k: Floats  # (p,)
    a: Floats  # (p,)
    A: Floats  # (p, f)
    B: Floats  # (p, f)
    slope: float  # above 0
    shift: float

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], final: tuple[float, float] = (1.0, 0.0)) -> Rest:
        """From arrays named as in `REST`, and the last slope and shift."""
        k, a, A, B = (arrays[name] for name in REST)
        return cls(k, a, A, B, *final)

    def __call__(
        self, z: Doubles, coded: NDArray[np.bool_], places: NDArray[np.int64] | None = None
    ) -> Doubles:
        """From the log odds of completion, (i, p) or (i, l) at `places`, and what is coded, (i, p)."""
        return np.clip(self.slope * self.own(z, coded, places) + self.shift, -MOST, MOST)

    def own(self, z: Doubles, coded: NDArray[np.bool_], places: NDArray[np.int64] | None = None) -> Doubles:
        """y of the module's text. The same sums in the same order, whatever stays and places."""
        beside = self._beside(coded)  # (i, p)
        y: Doubles = np.clip(z, -MOST, MOST)
        if places is None:
            return y * self.k + self.a + beside
        return y * self.k[places] + self.a[places] + np.take_along_axis(beside, places, axis=1)

    @property
    def arrays(self) -> dict[str, Floats]:
        """As a model folder names them."""
        return dict(zip(REST, (self.k, self.a, self.A, self.B), strict=True))

    @property
    def numbers(self) -> tuple[float, float]:
        """All but the arrays."""
        return self.slope, self.shift

    @cached_property
    def _beside(self) -> Beside:
        return Beside(self.A, self.B)
