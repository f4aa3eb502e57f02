"""The head: each procedure's own correction of the pooled probabilities.

One curve for all procedures is right on average and wrong procedure by procedure. For the pooled log odds η of a stay:

    r_p = √σ(η_p)                         over all procedures of the stay
    z_p = k_p η_p + a_p + q_p · tanh(Wᵀ r + e)
    probability_p = σ(w z_p + c)

The factors tanh(…) know the other procedures that a stay may have. So two procedures that exclude each other can
share what one of them would have alone. e is 0, but where a head is told more of its stay (`dx2px.scoring.correction`).
With k = 1 and a = q = 0 this is the pooled stage. Where procedures are very many, W is 0 but for the common ones, so
that the factors can be known without scoring all. `dx2px.training.fit_head` fits it.

Axes: i stays, p procedures, l procedures asked for, f factors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.scoring.factor import Factor, Once
from dx2px.scoring.methods import Layout
from dx2px.scoring.segments import Doubles, Floats
from dx2px.scoring.selection import Selection

LAYOUT: Layout = {
    "head_k": ("procedure",),
    "head_a": ("procedure",),
    "head_q": ("procedure", "factor"),
    "head_W": ("procedure", "factor"),
}


def _of(name: str) -> Layout:
    """The arrays of another head."""
    return {
        array.replace("head", name): tuple(axis.replace("factor", f"{name} factor") for axis in axes)
        for array, axes in LAYOUT.items()
    }


COMPLETION = _of("completion")  # for stays in which some procedures are coded already
PARTIAL = _of("partial")  # for questions that may be a part of a stay
_MOST = 30.0  # log odds: e³⁰ to one is as certain as an answer may be
_LEAST = np.float32(-80)  # exp(80) is still finite in single precision


@dataclass(frozen=True, eq=False)
class Head:
    """The fitted numbers. A model folder keeps the arrays with its weights, slope and shift with the calibration."""

    k: Floats  # (p,)
    a: Floats  # (p,)
    q: Floats  # (p, f)
    W: Floats  # (p, f)
    slope: float  # w, above 0
    shift: float  # c
    heard: NDArray[np.int64] | None = None  # (s,) the procedures that W is of, if narrowed; else all

    @classmethod
    def of(
        cls,
        arrays: Mapping[str, NDArray[Any]],
        final: tuple[float, float] = (1.0, 0.0),
        layout: Layout = LAYOUT,
    ) -> Head:
        """From arrays named as in the layout, and w and c."""
        k, a, q, W = (arrays[name] for name in layout)
        return cls(k, a, q, W, *final)

    def with_arrays(self, arrays: Mapping[str, NDArray[Any]], layout: Layout = LAYOUT) -> Head:
        """The same slope and shift with other arrays, named as in the layout."""
        return Head.of(arrays, (self.slope, self.shift), layout)

    def arrays(self, layout: Layout = LAYOUT) -> dict[str, Floats]:
        """As a model folder names them."""
        return dict(zip(layout, (self.k, self.a, self.q, self.W), strict=True))

    def log_odds(
        self, eta: NDArray[Any], places: NDArray[np.int64] | None = None, told: Floats | None = None
    ) -> Doubles:
        """w z + c, from the pooled log odds of all procedures, (i, p); with `places` (i, l), of these only.

        `told` is e of the module's text, (i, f).
        """
        return np.clip(self.slope * self.own(eta, places, told) + self.shift, -_MOST, _MOST)

    def own(
        self, eta: NDArray[Any], places: NDArray[np.int64] | None = None, told: Floats | None = None
    ) -> Doubles:
        """z of the module's text, (i, p) or (i, l). The same sums in the same order, whatever stays and places."""
        factors = roots(eta if self.heard is None else eta[:, self.heard]) @ self._factor  # (i, f)
        if told is not None:
            factors = factors + told
        turned = np.tanh(factors) @ self._loadings  # (i, p)
        if places is None:
            z: Doubles = eta * self.k
            z += self.a
            z += turned
            return z
        chosen: Doubles = np.take_along_axis(eta, places, axis=1)
        found: Doubles = chosen * self.k[places] + self.a[places] + np.take_along_axis(turned, places, axis=1)
        return found

    def narrowed(self, chosen: Selection) -> Head:
        """Of some procedures, for a single stay; those that the factors hear must be among them."""
        k, a, q = (chosen.of(array) for array in (self.k, self.a, self.q))
        return Head(k, a, q, self._heard, self.slope, self.shift, chosen.places(self.hears))

    @cached_property
    def hears(self) -> NDArray[np.int64]:
        """The procedures with a part in the factors: those with a row of W that is not all 0."""
        return np.flatnonzero(self.W.any(axis=1))

    @cached_property
    def _heard(self) -> Floats:
        return self.W[self.hears]

    @cached_property
    def _factor(self) -> Factor | Once:
        return Factor(self.W) if self.heard is None else Once(self.W.T)

    @cached_property
    def _loadings(self) -> Factor | Once:
        return Factor(self.q.T) if self.heard is None else Once(self.q)


def roots(eta: NDArray[Any]) -> Floats:
    """√σ(η) in single precision."""
    found = single_sigmoid(eta)
    return np.sqrt(found, out=found)


def single_sigmoid(x: NDArray[Any]) -> Floats:
    """1 / (1 + e⁻ˣ) in single precision, without overflow."""
    out = np.maximum(x.astype(np.float32, copy=False), _LEAST)
    np.negative(out, out=out)
    np.exp(out, out=out)
    out += 1
    return np.divide(np.float32(1), out, out=out)
