"""Adam on one flat buffer of parameters, which every network's parameters are views of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numba
import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray
from torch import Tensor, nn

from dx2px.errors import InputError
from dx2px.model import kernels

Array = NDArray[Any]


@dataclass(frozen=True)
class AdamConfig:
    """The optimiser; the learning rate is the paper's, the rest Adam's own defaults."""

    lr: float = 0.001
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8


class FlatAdam:
    """Holds parameters, gradient and Adam's moments in flat buffers.

    The network's parameters become views of the flat buffer: what an update changes, the network sees.
    """

    def __init__(self, network: nn.Module, config: AdamConfig) -> None:
        self.config, self.steps = config, 0
        self._shapes = {name: p.shape for name, p in network.named_parameters()}
        self.flat = torch.cat([p.detach().reshape(-1) for p in network.parameters()])
        self.gradient, self.m, self.v = (torch.zeros_like(self.flat) for _ in range(3))
        for name, view in self.views(self.flat).items():
            network.get_parameter(name).data = view

    def views(self, flat: Tensor) -> dict[str, Tensor]:
        """The parts of a flat buffer, by parameter."""
        parts = torch.split(flat, [shape.numel() for shape in self._shapes.values()])
        return {
            name: part.view(shape) for (name, shape), part in zip(self._shapes.items(), parts, strict=True)
        }

    @torch.no_grad()
    def update(self, lr: float | None = None) -> None:
        """One step along `gradient`, with the configured learning rate or another."""
        self.steps += 1
        c = self.config
        x, g, m, v = self.flat, self.gradient, self.m, self.v
        if x.device.type != "cpu":
            now = step_constants(c, self.steps, lr, np.float64)
            m.lerp_(g, now.new1)
            v.mul_(now.keep2).addcmul_(g, g, value=now.new2)
            x.addcdiv_(m, v.sqrt().mul_(now.root).add_(now.eps), value=-now.rate)
            return
        now = step_constants(c, self.steps, lr, x.numpy().dtype)
        update_flat(x.numpy(), g.numpy(), m.numpy(), v.numpy(), now, numba.get_num_threads())

    def settle(self) -> None:
        """Bring every parameter up to date; here they always are."""

    def state(self) -> dict[str, Array]:
        """The optimiser's state, copied: `steps`, and the moments `m.U`, `v.U`, … of each parameter."""
        state: dict[str, Array] = {"steps": np.array(self.steps, dtype=np.int64)}
        for kind, flat in (("m", self.m), ("v", self.v)):
            for name, view in self.views(flat).items():
                state[f"{kind}.{name}"] = view.cpu().numpy().copy()
        return state

    def load_state(self, state: dict[str, Array]) -> None:
        """Take up where `state` was exported; the network's weights are restored by its owner."""
        expected = {key: value.shape for key, value in self.state().items()}
        given = {key: np.shape(value) for key, value in state.items()}
        if expected != given:
            wrong = sorted(k for k in expected.keys() | given.keys() if expected.get(k) != given.get(k))
            raise InputError(f"optimiser state: {', '.join(wrong)} missing, unknown or of another shape")
        self.steps = int(state["steps"])
        for kind, flat in (("m", self.m), ("v", self.v)):
            for name, view in self.views(flat).items():
                view.copy_(torch.from_numpy(np.ascontiguousarray(state[f"{kind}.{name}"])))


class StepConstants(NamedTuple):
    """One step's constants: `rate` is lr/(1 − β₁ᵗ), `root` is 1/√(1 − β₂ᵗ)."""

    rate: Any
    keep1: Any
    keep2: Any
    new1: Any
    new2: Any
    root: Any
    eps: Any


def step_constants(config: AdamConfig, step: int, lr: float | None, dtype: DTypeLike) -> StepConstants:
    """The constants of a step, counted from 1."""
    c, real = config, np.dtype(dtype).type
    rate = (c.lr if lr is None else lr) / (1 - c.beta1**step)
    root = (1 - c.beta2**step) ** -0.5
    return StepConstants(*map(real, (rate, c.beta1, c.beta2, 1 - c.beta1, 1 - c.beta2, root, c.eps)))


@kernels.compiled
def _update_some(x: Array, g: Array, m: Array, v: Array, c: StepConstants) -> None:
    for j in range(len(x)):
        first = c.keep1 * m[j] + c.new1 * g[j]
        second = c.keep2 * v[j] + c.new2 * g[j] * g[j]
        m[j], v[j] = first, second
        x[j] -= c.rate * first / (math.sqrt(second) * c.root + c.eps)


@kernels.parallel
def update_flat(x: Array, g: Array, m: Array, v: Array, c: StepConstants, workers: int) -> None:
    share = (len(x) + workers - 1) // workers
    for w in numba.prange(workers):
        lo, hi = w * share, min(len(x), (w + 1) * share)
        _update_some(x[lo:hi], g[lo:hi], m[lo:hi], v[lo:hi], c)
