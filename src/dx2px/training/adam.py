"""Adam on one flat buffer, of which the network's parameters are views.

The arithmetic is torch's fused Adam, called as a function: torch's optimiser objects load torch's compiler, which takes
more than a second. One buffer needs one call per step, and is one array to sum over processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim.adam import adam

from dx2px.errors import InputError

Array = NDArray[Any]
_MOMENTS = "mv"  # of the gradient, and of its square


@dataclass(frozen=True)
class AdamConfig:
    """The optimiser's settings: the paper's learning rate, and Adam's own defaults.

    Attributes:
        lr: Learning rate.
        beta1: Decay of the mean of the gradients.
        beta2: Decay of the mean of their squares.
        eps: Added to the denominator of a step.
    """

    lr: float = 0.001
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8


class Moments:
    """The state of Adam for one buffer, and its step."""

    def __init__(self, flat: Tensor, config: AdamConfig) -> None:
        self.config = config
        self.means = {name: torch.zeros_like(flat) for name in _MOMENTS}
        self.steps = torch.zeros((), dtype=torch.float32, device=flat.device)

    @torch.no_grad()
    def step(self, flat: Tensor, gradient: Tensor, lr: float) -> None:
        """Move the buffer along its gradient."""
        first, second = ([self.means[name]] for name in _MOMENTS)
        rates = {"beta1": self.config.beta1, "beta2": self.config.beta2, "eps": self.config.eps, "lr": lr}
        none = {"amsgrad": False, "weight_decay": 0.0, "maximize": False}
        adam([flat], [gradient], first, second, [], [self.steps], fused=True, **rates, **none)  # type: ignore[arg-type]


class FlatAdam:
    """Parameters, gradient and Adam's moments in flat buffers.

    The network's parameters become views of `flat`, so an update changes the network itself.
    """

    def __init__(self, network: nn.Module, config: AdamConfig) -> None:
        self.config, self.steps = config, 0
        self._shapes = {name: p.shape for name, p in network.named_parameters()}
        self.flat = torch.cat([p.detach().reshape(-1) for p in network.parameters()])
        self.gradient = torch.zeros_like(self.flat)
        self._moments = Moments(self.flat, config)
        for name, view in self.views(self.flat).items():
            network.get_parameter(name).data = view

    def views(self, flat: Tensor) -> dict[str, Tensor]:
        """The parts of a flat buffer, by parameter."""
        parts = torch.split(flat, [shape.numel() for shape in self._shapes.values()])
        return {
            name: part.view(shape) for (name, shape), part in zip(self._shapes.items(), parts, strict=True)
        }

    def update(self, lr: float | None = None) -> None:
        """One step along `gradient`, with the configured learning rate or another."""
        self.steps += 1
        self._moments.step(self.flat, self.gradient, self.config.lr if lr is None else lr)

    def state(self) -> dict[str, Array]:
        """A copy of the optimiser's state: `steps`, and the moments `m.U`, `v.U`, … of each parameter."""
        state: dict[str, Array] = {"steps": np.array(self.steps, dtype=np.int64)}
        for kind, moment in self._moments.means.items():
            for name, view in self.views(moment).items():
                state[f"{kind}.{name}"] = view.cpu().numpy().copy()
        return state

    def load_state(self, state: dict[str, Array]) -> None:
        """Continue from an exported `state`; the caller restores the network's weights."""
        expected = {key: value.shape for key, value in self.state().items()}
        given = {key: np.shape(value) for key, value in state.items()}
        if expected != given:
            wrong = sorted(k for k in expected.keys() | given.keys() if expected.get(k) != given.get(k))
            raise InputError(f"optimiser state: {', '.join(wrong)} missing, unknown or of another shape")
        self.steps = int(state["steps"])
        self._moments.steps.fill_(self.steps)
        for kind, moment in self._moments.means.items():
            for name, view in self.views(moment).items():
                view.copy_(torch.from_numpy(np.ascontiguousarray(state[f"{kind}.{name}"])))
