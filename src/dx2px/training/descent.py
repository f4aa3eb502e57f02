"""Fitting a few arrays to many stays: Adam on random stays at a time, with a ridge towards where some arrays started.

The heads of the probabilities are fitted like this (`fit_head`, `fit_rest`). Their gradients are written out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from dx2px.scoring.segments import Floats
from dx2px.training.adam import AdamConfig, Moments
from dx2px.training.threads import one_thread

STAYS, RATE = (
    500,
    0.02,
)  # stays per step; the learning rate is even at first and falls to 0 in the second half

Weights = Mapping[str, Floats]
Gradient = Callable[[Weights, NDArray[np.int64]], Weights]  # of the summed loss of some stays, by array
Ridge = Mapping[
    str, tuple[float, float | Floats]
]  # per unit², against the loss of all stays together; towards what


def descend(
    start: Weights, gradient: Gradient, ridge: Ridge, stays: int, steps: int, generator: torch.Generator
) -> dict[str, Floats]:
    """The fitted arrays, from the gradient of a step's stays."""
    flat, weights = _flat(start)
    slope, slopes = _flat(start)
    moments, size = Moments(flat, AdamConfig(lr=RATE)), min(STAYS, stays)
    order = np.empty(0, np.int64)
    with one_thread():
        for step in range(steps):
            if len(order) < size:
                order = torch.randperm(stays, generator=generator).numpy()
            rows, order = order[:size], order[size:]
            for name, found in gradient(weights, rows).items():
                np.divide(found, size, out=slopes[name])
            for name, (weight, origin) in ridge.items():
                slopes[name] += 2 * weight / stays * (weights[name] - origin)
            moments.step(flat, slope, RATE * min(1.0, 2 * (1 - step / steps)))
    return weights


def _flat(arrays: Weights) -> tuple[torch.Tensor, dict[str, Floats]]:
    """A copy of the arrays in one buffer, and views of its parts."""
    flat = np.concatenate([array.reshape(-1) for array in arrays.values()]).astype(np.float32)
    ends = np.cumsum([array.size for array in arrays.values()])[:-1]
    parts = zip(arrays.items(), np.split(flat, ends), strict=True)
    return torch.from_numpy(flat), {name: part.reshape(array.shape) for (name, array), part in parts}
