"""Adam on one flat buffer, of which the network's parameters are views.

The arithmetic is torch's fused Adam. One buffer needs one call per step, and is one array to sum over processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dx2px.errors import InputError

Array = NDArray[Any]
_MOMENTS = {"m": "exp_avg", "v": "exp_avg_sq"}  # our names, torch's names


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


class FlatAdam:
    """Parameters, gradient and Adam's moments in flat buffers.

    The network's parameters become views of `flat`, so an update changes the network itself.
    """

    def __init__(self, network: nn.Module, config: AdamConfig) -> None:
        self.config, self.steps = config, 0
        self._shapes = {name: p.shape for name, p in network.named_parameters()}
        self.flat = torch.cat([p.detach().reshape(-1) for p in network.parameters()])
        self.gradient = torch.zeros_like(self.flat)
        parameter = nn.Parameter(self.flat)
        parameter.grad = self.gradient
        self._adam = torch.optim.Adam(
            [parameter], lr=config.lr, betas=(config.beta1, config.beta2), eps=config.eps, fused=True
        )
        # Torch would make this state in its first step; made here, it can be loaded before that.
        self._state: dict[str, Tensor] = {name: torch.zeros_like(self.flat) for name in _MOMENTS.values()}
        self._state["step"] = torch.zeros((), dtype=torch.float32, device=self.flat.device)
        self._adam.state[parameter] = self._state
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
        self._adam.param_groups[0]["lr"] = self.config.lr if lr is None else lr
        self._adam.step()

    def state(self) -> dict[str, Array]:
        """A copy of the optimiser's state: `steps`, and the moments `m.U`, `v.U`, … of each parameter."""
        state: dict[str, Array] = {"steps": np.array(self.steps, dtype=np.int64)}
        for kind, moment in _MOMENTS.items():
            for name, view in self.views(self._state[moment]).items():
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
        self._state["step"].fill_(self.steps)
        for kind, moment in _MOMENTS.items():
            for name, view in self.views(self._state[moment]).items():
                view.copy_(torch.from_numpy(np.ascontiguousarray(state[f"{kind}.{name}"])))
