"""The predictive model of eq 1: embeddings, fusion, and the probability of each procedure.

Axes: i stays, n diagnoses of all stays laid flat, q distinct diagnoses, p procedures, k heads, m dimensions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from dx2px.errors import InputError
from dx2px.model import attention
from dx2px.ragged import Ragged

Variant = Literal["e+pooling", "e+sa", "e+ma", "e+sa+ma"]
Pooling = Literal["max", "mean"]
Fusion = Literal["self-attention", "max", "mean"]


@dataclass(frozen=True)
class ModelConfig:
    """Which model, and how large. The defaults are the paper's (section 5.1)."""

    variant: Variant = "e+sa+ma"
    dim: int = 200
    heads: int = 8
    alpha: float = 0.1
    pooling: Pooling = "max"  # of the variants without self-attention; the paper's "pooling" is max pooling

    def __post_init__(self) -> None:
        problems = []
        if self.variant not in get_args(Variant):
            problems.append(f"variant must be one of {', '.join(get_args(Variant))}, not {self.variant!r}")
        if self.pooling not in get_args(Pooling):
            problems.append(f"pooling must be one of {', '.join(get_args(Pooling))}, not {self.pooling!r}")
        problems += [
            f"{name} must be at least 1, not {value}"
            for name, value in (("dim", self.dim), ("heads", self.heads))
            if value < 1
        ]
        if not 0 <= self.alpha < math.inf:
            problems.append(f"alpha must be a number that is not negative, not {self.alpha}")
        if problems:
            raise InputError("model settings: " + "; ".join(problems))

    @property
    def fusion(self) -> Fusion:
        return "self-attention" if "+sa" in self.variant else self.pooling

    @property
    def mutual_attention(self) -> bool:
        return self.variant.endswith("+ma")


@dataclass(frozen=True)
class InitConfig:
    """How the parameters start; the paper is silent, and it matters (study in docs/reproduction.md).

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


class Network(nn.Module):
    """θ = {U, V, f}: a row of U a diagnosis, a row of V a procedure; A, a, B, b where f is self-attention."""

    def __init__(
        self, diagnoses: int, procedures: int, config: ModelConfig, dtype: torch.dtype = torch.float32
    ) -> None:
        super().__init__()
        M, K = config.dim, config.heads
        self.config = config
        self.U = nn.Parameter(torch.zeros(diagnoses, M, dtype=dtype))
        self.V = nn.Parameter(torch.zeros(procedures, M, dtype=dtype))
        if config.fusion == "self-attention":
            self.A = nn.Parameter(torch.zeros(K, M, M, dtype=dtype))
            self.a = nn.Parameter(torch.zeros(K, M, dtype=dtype))
            self.B = nn.Parameter(torch.zeros(K, K, dtype=dtype))
            self.b = nn.Parameter(torch.zeros(K, dtype=dtype))

    @torch.no_grad()
    def init(self, generator: torch.Generator, config: InitConfig | None = None) -> Network:
        """Draw every parameter from the generator: U, V, A, a, B, b, in this order."""
        config = config or InitConfig()
        scale = config.scale if config.scale is not None else 1.0 / self.config.dim
        for table in (self.U, self.V):
            if config.scheme == "uniform":
                table.uniform_(-scale, scale, generator=generator)
            else:
                table.normal_(0.0, scale, generator=generator)
        if self.config.fusion == "self-attention":
            for weight in (self.A, self.a, self.B, self.b):
                weight.normal_(0.0, config.attention_scale * weight.shape[-1] ** -0.5, generator=generator)
        return self

    def significance(self, diagnoses: Ragged) -> Tensor:
        """μ_D of every stay, laid flat (eqs 3, 4); flat where there is no self-attention."""
        code, stay = self._flat(diagnoses)
        if self.config.fusion != "self-attention":
            return attention.uniform(stay, len(diagnoses), self.U.dtype)  # (n,)
        distinct, slot = torch.unique(code, return_inverse=True)  # (q,) (n,)
        scores = attention.head_scores(self.U[distinct], self.A, self.a)  # (q, k)
        return attention.significance(scores[slot], stay, len(diagnoses), self.B, self.b)  # (n,)

    def fuse(self, diagnoses: Ragged, mu: Tensor) -> Tensor:
        """f(U_D) of every stay."""
        code, stay = self._flat(diagnoses)
        if self.config.fusion == "max":
            return attention.max_pooling(self.U[code], stay, len(diagnoses))  # (i, m)
        return attention.weighted_sum(self.U[code], mu, stay, len(diagnoses))  # (i, m)

    def forward(self, diagnoses: Ragged) -> Tensor:
        """Prob(p | D_i) of every procedure."""
        f = self.fuse(diagnoses, self.significance(diagnoses))
        return torch.sigmoid(f @ self.V.T)  # (i, p)  eq 1

    def _flat(self, rows: Ragged) -> tuple[Tensor, Tensor]:
        device = self.U.device
        code = torch.from_numpy(rows.values).to(device, torch.int64)
        return code, torch.from_numpy(rows.row_of_entry).to(device)  # (n,) (n,)
