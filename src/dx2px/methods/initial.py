"""The initial vectors of codes.

All methods with vectors start the same way, the paper's model included. No source states an initialisation; this one
was the best in a study on NHDS (docs/reproduction.md). It replaces the uniform ±1/M of the GWL authors' code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from dx2px.errors import InputError
from dx2px.scoring.segments import Floats


@dataclass(frozen=True)
class InitConfig:
    """How parameters are initialised. The paper does not say, and it matters (docs/reproduction.md).

    Embeddings: uniform in ±scale, or normal with deviation `scale`; without a scale, 1/M.
    Attention: normal with deviation `attention_scale`/√(fan-in); the fan-in is M for A and a, K for B and b.
    """

    scheme: Literal["uniform", "normal"] = "normal"
    scale: float | None = 0.1
    attention_scale: float = 1.0

    def __post_init__(self) -> None:
        if self.scheme not in ("uniform", "normal"):
            raise InputError(f"initialisation: scheme must be uniform or normal, not {self.scheme!r}")
        if (self.scale is not None and not self.scale > 0) or not self.attention_scale > 0:
            raise InputError("initialisation: scale and attention_scale must be positive")

    def draw(self, table: Tensor, generator: torch.Generator) -> Tensor:
        """Fill a table with embeddings, one row per code."""
        scale = self.scale if self.scale is not None else 1.0 / table.shape[1]
        if self.scheme == "uniform":
            return table.uniform_(-scale, scale, generator=generator)
        return table.normal_(0.0, scale, generator=generator)


def initial(sizes: tuple[int, int], dim: int, init: InitConfig, seed: int) -> tuple[Tensor, Tensor]:
    """U and V before learning: the same as those of the paper's model with this seed."""
    generator = torch.Generator().manual_seed(seed)
    U, V = (init.draw(torch.empty(size, dim), generator) for size in sizes)
    return U, V  # (d, m) (p, m)


def vectors(learned: tuple[Tensor, Tensor]) -> dict[str, Floats]:
    """U and V as a model folder keeps them."""
    U, V = (X.detach().numpy() for X in learned)
    return {"U": U, "V": V}
