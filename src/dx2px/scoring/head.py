"""The head: each procedure's own correction of the pooled probabilities.

One curve for all procedures is right on average and wrong procedure by procedure. For the pooled log odds η of a stay:

    r_p = √σ(η_p)                         over all procedures of the stay
    z_p = k_p η_p + a_p + q_p · tanh(Wᵀ r)
    probability_p = σ(w z_p + c)

The factors tanh(Wᵀ r) know the other procedures that a stay may have. So two procedures that exclude each other can
share what one of them would have alone. With k = 1 and a = q = 0 this is the pooled stage. `dx2px.training.fit_head`
fits it.

Axes: i stays, p procedures, l procedures asked for, f factors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.scoring.methods import Layout
from dx2px.scoring.segments import Doubles, Factor, Floats

LAYOUT: Layout = {
    "head_k": ("procedure",),
    "head_a": ("procedure",),
    "head_q": ("procedure", "factor"),
    "head_W": ("procedure", "factor"),
}
COMPLETION: Layout = {  # of the second head, for stays in which some procedures are coded already
    name.replace("head", "completion"): tuple(axis.replace("factor", "completion factor") for axis in axes)
    for name, axes in LAYOUT.items()
}
_MOST = 30.0  # log odds: e³⁰ to one is as certain as an answer may be
_BLOCK = 64  # stays
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

    def arrays(self, layout: Layout = LAYOUT) -> dict[str, Floats]:
        """As a model folder names them."""
        return dict(zip(layout, (self.k, self.a, self.q, self.W), strict=True))

    def log_odds(self, eta: Doubles, places: NDArray[np.int64] | None = None) -> Doubles:
        """w z + c, from the pooled log odds of all procedures, (i, p); with `places` (i, l), of these only."""
        return np.clip(self.slope * self.own(eta, places) + self.shift, -_MOST, _MOST)

    def own(self, eta: Doubles, places: NDArray[np.int64] | None = None) -> Doubles:
        """z of the module's text, (i, p) or (i, l). The same sums in the same order, whatever stays and places."""
        factors = np.tanh(_roots(eta) @ self._factor).astype(np.float64)  # (i, f)
        if places is None:
            k, a, q, chosen = self.k, self.a, self._turned, eta
        elif len(places) == 1:  # as below, in fewer steps
            at = places[0]
            k, a, q, chosen = self.k[at], self.a[at], self._turned[:, at], eta[:, at]
        else:
            k, a, q = self.k[places], self.a[places], factors_first(self.q[places])
            chosen = np.take_along_axis(eta, places, axis=1)
        z: Doubles = chosen * k
        z += a
        return plus_factors(z, factors, q)

    @cached_property
    def _turned(self) -> Doubles:
        return factors_first(self.q)

    @cached_property
    def _factor(self) -> Factor:
        return Factor(self.W)


def factors_first(loadings: Floats) -> Doubles:
    """The loadings of factors, (…, f), as (f, …) in double precision."""
    return np.ascontiguousarray(np.moveaxis(loadings, -1, 0), np.float64)


def plus_factors(z: Doubles, factors: Doubles, loadings: Doubles) -> Doubles:
    """z + Σ_f factors · loadings, from z (i, p), factors (i, f) and loadings (f, p) or (f, i, p).

    The factors are added one after the other, so that a sum is the same to the bit whatever the stays beside it. The
    stays are cut into blocks, so that what is added to stays in the processor's cache.
    """
    if len(z) == 1:  # the same order in two steps instead of two per factor
        terms = factors[0].reshape(-1, 1, 1) * loadings.reshape(len(loadings), 1, -1)
        found: Doubles = np.add.accumulate(np.concatenate([z[None], terms]))[-1]
        return found
    for start in range(0, len(z), _BLOCK):
        rows = slice(start, start + _BLOCK)
        part, own = z[rows], factors[rows]
        term = np.empty_like(part)
        for f, loading in enumerate(loadings):
            part += np.multiply(own[:, f, None], loading if loading.ndim == 1 else loading[rows], out=term)
    return z


def _roots(eta: Doubles) -> Floats:
    """√σ(η) in single precision."""
    x = np.maximum(eta.astype(np.float32), _LEAST)
    np.negative(x, out=x)
    np.exp(x, out=x)
    x += 1
    np.sqrt(x, out=x)
    return np.divide(np.float32(1), x, out=x)
