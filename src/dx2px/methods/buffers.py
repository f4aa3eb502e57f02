"""Memory that is used again in every step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]


class Buffers:
    """Uninitialised arrays by name. An array reuses the memory of the last one of its name."""

    def __init__(self, dtype: DTypeLike) -> None:
        self._dtype = dtype
        self._held: dict[str, Array] = {}

    def __call__(self, name: str, shape: tuple[int, ...]) -> Array:
        size = math.prod(shape)
        held = self._held.get(name)
        if held is None or held.size < size:
            held = self._held[name] = np.empty(size + size // 4, self._dtype)
        return held[:size].reshape(shape)
