"""How log odds change with how much is known of a stay: with the diagnoses that are asked, or the procedures coded.

For log odds z_p, and a number n of codes that are known, at least one:

    z'_p = (slope + tilt · log n) · z_p + shift + per_log · log n

and then a head of its own (`dx2px.scoring.head`), where that helps. The head may be told which codes are known: one
diagnosis decides what is done, another hardly matters. Then e is the mean of E_d over them. It is used twice:

    partial      n diagnoses are asked, and the stay may have others       `dx2px.training.fit_partial`
    completion   n procedures are coded, and something may be missing      `dx2px.training.fit_completion`

Axes: i stays, p procedures, l procedures asked for, d diagnoses, f factors of the head.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.ragged import Ragged
from dx2px.scoring.head import Head
from dx2px.scoring.methods import Layout
from dx2px.scoring.segments import Doubles, Floats, uniform, weighted_sum
from dx2px.scoring.selection import Selection

ASKED = "partial_E"  # the array of a head that is told which diagnoses are asked
ASKED_LAYOUT: Layout = {ASKED: ("diagnosis", "partial factor")}
_LEAST_SLOPE = 0.05  # whatever n: what scored higher does not become less probable


@dataclass(frozen=True, eq=False)
class Correction:
    """The numbers of the module's text, and the head, if there is one."""

    slope: float  # above 0
    shift: float
    per_log: float
    tilt: float = 0.0
    head: Head | None = None
    E: Floats | None = None  # (d, f) of a head that is told which diagnoses are asked

    def __call__(
        self,
        z: Doubles,
        number: NDArray[np.int64],
        places: NDArray[np.int64] | None = None,
        asked: Ragged | None = None,
    ) -> Doubles:
        """The log odds of all procedures, (i, p), of stays with so many known codes, at least one, (i,).

        With `places` (i, l), only of the procedures at these places. `asked` are the known codes if they are diagnoses.
        """
        changed = self.plain(z, number)
        if self.head is not None:
            return self.head.log_odds(changed, places, told(self.E, asked))
        return changed if places is None else np.take_along_axis(changed, places, axis=1)

    def plain(self, z: NDArray[Any], number: NDArray[np.int64]) -> Doubles:
        """z' of the module's text, (i, p), before the head."""
        logs = np.log(number)[:, None]
        slope = np.maximum(self.slope + self.tilt * logs, _LEAST_SLOPE)
        changed: Doubles = slope * z + (self.shift + self.per_log * logs)
        return changed

    def narrowed(self, chosen: Selection) -> Correction:
        """Of some procedures, for a single stay."""
        return self if self.head is None else replace(self, head=self.head.narrowed(chosen))

    def arrays(self, layout: Layout) -> dict[str, Floats]:
        """As a model folder names them, the head's as in `layout`."""
        found = {} if self.head is None else self.head.arrays(layout)
        return found if self.E is None else found | {ASKED: self.E}

    def with_arrays(self, arrays: Mapping[str, NDArray[Any]], layout: Layout) -> Correction:
        """The same with other arrays, if it has any."""
        head = None if self.head is None else self.head.with_arrays(arrays, layout)
        return replace(self, head=head, E=None if self.E is None else arrays[ASKED])

    @property
    def numbers(self) -> list[float]:
        """All but the head's arrays; without a tilt as in folders that were made before there was one."""
        own = [self.slope, self.shift, self.per_log, *([self.tilt] if self.tilt else [])]
        return own if self.head is None else [*own, self.head.slope, self.head.shift]


def told(E: Floats | None, asked: Ragged | None) -> Floats | None:
    """e of the module's text, (i, f); None if the head is not told which diagnoses are asked."""
    return None if E is None or asked is None else weighted_sum(E, uniform(asked), asked)
