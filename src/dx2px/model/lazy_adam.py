"""Adam for large vocabularies: a step visits only the rows of U and V that its batch holds.

Plain Adam moves every row at every step, also those without a gradient, whose moments fade. Here such a row is left
as it is, and brought up to date when a batch next holds it, or all are asked for (`settle`). With the last update of a
row at step τ, its moments m, v and no gradient since, steps τ+1 … t would have moved it by

    m/√v · Σ_{s=τ+1}^{t} w_s q^{s−τ},   w_s = lr·√(1 − β₂ˢ)/(1 − β₁ˢ),   q = β₁/√β₂

up to ε, which is far below √v. The sum is T(τ) − q^{t−τ} T(t) with T(τ) = Σ_{j≥1} w_{τ+j} qʲ, one table for all rows.
So the weights are those of plain Adam, but for rounding and ε, at a cost that does not depend on the vocabulary.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from torch import nn

from dx2px.errors import InputError
from dx2px.model import kernels
from dx2px.model.adam import AdamConfig, Array, FlatAdam, StepConstants, step_constants, update_flat

LAZY_FROM = (
    20_000  # codes; with fewer, plain Adam costs little, and published weights stay the same to the bit
)
TABLES = ("U", "V")
_FADED = 1e-30  # moments below this share are nothing; they would sink among the slow subnormal numbers
_PRECISION = 50.0  # terms of T below e^−50 are left out

Rows = NDArray[np.integer]


class _Part(NamedTuple):
    """Some of the parameters, with their gradient and moments."""

    x: Array
    g: Array
    m: Array
    v: Array


class LazyAdam(FlatAdam):
    """`FlatAdam` that must be told, by `refresh`, which rows of U and V a step reads, before they are read."""

    def __init__(self, network: nn.Module, config: AdamConfig) -> None:
        super().__init__(network, config)
        if list(self.views(self.flat))[: len(TABLES)] != list(TABLES):
            raise InputError("lazy Adam: the network's first parameters must be U and V")
        buffers = self.flat, self.gradient, self.m, self.v
        self._held = {name: _Part(*(self.views(flat)[name].numpy() for flat in buffers)) for name in TABLES}
        size = sum(held.x.size for held in self._held.values())
        self._rest = _Part(*(flat[size:].numpy() for flat in buffers))
        self._last = {name: np.zeros(len(held.x), np.int64) for name, held in self._held.items()}
        self._missed = MissedSteps(config)
        self.touched: dict[str, Rows] = {name: np.empty(0, np.int64) for name in TABLES}

    @staticmethod
    def suits(config: AdamConfig) -> bool:
        """Whether T converges."""
        return config.beta1**2 < config.beta2

    def refresh(self, name: str, rows: Rows) -> None:
        """Bring rows of a table up to date; they are the ones that the next update moves."""
        self._catch_up(name, rows)
        self.touched[name] = rows

    def settle(self) -> None:
        """Bring all rows up to date."""
        for name, last in self._last.items():
            self._catch_up(name, np.flatnonzero(last < self.steps))

    def update(self, lr: float | None = None) -> None:
        """One step for the rows refreshed since the last one, and for all other parameters; empties the gradient."""
        if lr is not None and lr != self.config.lr:
            raise InputError("lazy Adam: the learning rate must be constant")
        self.steps += 1
        constants = step_constants(self.config, self.steps, self.config.lr, self._rest.x.dtype)
        workers = numba.get_num_threads()
        for name, rows in self.touched.items():
            x, g, m, v = self._held[name]
            _update_rows(x, g, m, v, rows, constants, workers)
            self._last[name][rows] = self.steps
            self.touched[name] = rows[:0]
        x, g, m, v = self._rest
        update_flat(x, g, m, v, constants, workers)
        g.fill(0)

    def state(self) -> dict[str, Array]:
        """As of `FlatAdam`, with the step of each row's last update: rows are saved as they are, not settled."""
        return super().state() | {f"last.{name}": last.copy() for name, last in self._last.items()}

    def load_state(self, state: dict[str, Array]) -> None:
        super().load_state(state)
        for name, last in self._last.items():
            last[:] = state[f"last.{name}"]

    def _catch_up(self, name: str, rows: Rows) -> None:
        x, _, m, v = self._held[name]
        last = self._last[name]
        missed = self._missed.between(last[rows], self.steps)
        _catch_up(x, m, v, rows, missed.astype(x.dtype), numba.get_num_threads())
        last[rows] = self.steps


class MissedSteps:
    """What updates without a gradient do to a row: its move, and what is left of its moments."""

    def __init__(self, config: AdamConfig) -> None:
        self.config = config
        self.q = config.beta1 / math.sqrt(config.beta2)
        self._sums = np.empty(0)  # T(τ)

    def between(self, last: NDArray[np.int64], now: int) -> NDArray[np.float64]:
        """For each step of a last update: factor of m/(√v + ε'), ε', factor of m, factor of v."""
        if now >= len(self._sums):
            self._extend(2 * now + 4096)
        c, gap = self.config, (now - last).astype(np.float64)
        move = self._sums[last] - self.q**gap * self._sums[now]
        fading = c.beta1**gap
        fading[fading < _FADED] = 0.0
        eps = c.eps * np.sqrt(1 - c.beta2 ** (last + 1.0))
        return np.stack([move, eps, fading, c.beta2**gap], axis=1)  # (rows, 4)

    def _extend(self, size: int) -> None:
        c = self.config
        beyond = 1 if self.q == 0 else math.ceil(-_PRECISION / math.log(self.q))
        s = np.arange(1.0, size + beyond + 1)
        w = c.lr * np.sqrt(1 - c.beta2**s) / (1 - c.beta1**s)  # (steps,)
        self._sums = _sums_from(w, self.q)[:size]


@kernels.compiled
def _sums_from(w: Array, q: float) -> Array:
    """T(τ) = q (w_{τ+1} + T(τ+1)), from the far end, where w changes no more."""
    sums = np.empty(len(w))
    after = w[-1] * q / (1 - q)
    for place in range(len(w) - 1, -1, -1):
        after = q * (w[place] + after)
        sums[place] = after
    return sums


@kernels.compiled
def _catch_up_row(x: Array, m: Array, v: Array, missed: Array) -> None:
    move, eps, keep1, keep2 = missed[0], missed[1], missed[2], missed[3]
    for j in range(len(x)):
        x[j] -= move * m[j] / (math.sqrt(v[j]) + eps)
        m[j] *= keep1
        v[j] *= keep2


@kernels.parallel
def _catch_up(x: Array, m: Array, v: Array, rows: Rows, missed: Array, workers: int) -> None:
    share = (len(rows) + workers - 1) // workers
    for w in numba.prange(workers):
        for place in range(w * share, min(len(rows), (w + 1) * share)):
            row = rows[place]
            _catch_up_row(x[row], m[row], v[row], missed[place])


@kernels.compiled
def _update_row(x: Array, g: Array, m: Array, v: Array, c: StepConstants) -> None:
    for j in range(len(x)):
        first = c.keep1 * m[j] + c.new1 * g[j]
        second = c.keep2 * v[j] + c.new2 * g[j] * g[j]
        m[j], v[j] = first, second
        x[j] -= c.rate * first / (math.sqrt(second) * c.root + c.eps)
        g[j] = 0


@kernels.parallel
def _update_rows(x: Array, g: Array, m: Array, v: Array, rows: Rows, c: StepConstants, workers: Any) -> None:
    share = (len(rows) + workers - 1) // workers
    for w in numba.prange(workers):
        for place in range(w * share, min(len(rows), (w + 1) * share)):
            row = rows[place]
            _update_row(x[row], g[row], m[row], v[row], c)
