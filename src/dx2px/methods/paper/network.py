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
from dx2px.methods.initial import InitConfig
from dx2px.methods.paper import attention
from dx2px.ragged import Ragged
from dx2px.scoring.methods import VARIANTS, Variant
from dx2px.training.config import counts

Pooling = Literal["max", "mean"]
Fusion = Literal["self-attention", "max", "mean"]


@dataclass(frozen=True)
class PaperConfig:
    """Which model, and how large. The defaults are the paper's (section 5.1).

    Attributes:
        variant: `e+pooling`, `e+sa` (self-attention), `e+ma` (mutual attention) or `e+sa+ma` (both).
        dim: Dimension of the vectors, M.
        heads: Heads of the self-attention, K.
        alpha: Weight α of the transport loss (eq 8), for the variants with mutual attention.
        pooling: How the variants without self-attention merge a stay's diagnoses; the paper takes the maximum.

    Raises:
        InputError: A setting is out of range.
    """

    variant: Variant = "e+sa+ma"
    dim: int = 200
    heads: int = 8
    alpha: float = 0.1
    pooling: Pooling = "max"

    def __post_init__(self) -> None:
        problems = []
        if self.variant not in VARIANTS:
            problems.append(f"variant must be one of {', '.join(VARIANTS)}, not {self.variant!r}")
        if self.pooling not in get_args(Pooling):
            problems.append(f"pooling must be one of {', '.join(get_args(Pooling))}, not {self.pooling!r}")
        sizes = (("dim", self.dim), ("heads", self.heads))
        problems += [problem for one in sizes if (problem := counts(*one))]
        if not 0 <= self.alpha < math.inf:
            problems.append(f"alpha must be at least 0 and finite, not {self.alpha}")
        if problems:
            raise InputError("model settings: " + "; ".join(problems))

    @property
    def fusion(self) -> Fusion:
        """How a stay's diagnoses become one vector."""
        return "self-attention" if "+sa" in self.variant else self.pooling

    @property
    def mutual_attention(self) -> bool:
        """Whether the loss has the transport term."""
        return self.variant.endswith("+ma")


class PaperNetwork(nn.Module):
    """θ = {U, V, f}: one row of U per diagnosis, one of V per procedure; A, a, B, b if f is self-attention."""

    def __init__(
        self, diagnoses: int, procedures: int, config: PaperConfig, dtype: torch.dtype = torch.float32
    ) -> None:
        super().__init__()
        M, K = config.dim, config.heads
        self.config = config
        self.U = nn.Parameter(torch.zeros(diagnoses, M, dtype=dtype))  # (diagnoses, m)
        self.V = nn.Parameter(torch.zeros(procedures, M, dtype=dtype))  # (p, m)
        if config.fusion == "self-attention":
            self.A = nn.Parameter(torch.zeros(K, M, M, dtype=dtype))  # (k, m, m)
            self.a = nn.Parameter(torch.zeros(K, M, dtype=dtype))  # (k, m)
            self.B = nn.Parameter(torch.zeros(K, K, dtype=dtype))  # (k, k)
            self.b = nn.Parameter(torch.zeros(K, dtype=dtype))  # (k,)

    @torch.no_grad()
    def init(self, generator: torch.Generator, config: InitConfig | None = None) -> PaperNetwork:
        """Draw every parameter from the generator, in the order U, V, A, a, B, b."""
        config = config or InitConfig()
        for table in (self.U, self.V):
            config.draw(table, generator)
        if self.config.fusion == "self-attention":
            for weight in (self.A, self.a, self.B, self.b):
                weight.normal_(0.0, config.attention_scale * weight.shape[-1] ** -0.5, generator=generator)
        return self

    def significance(self, diagnoses: Ragged) -> Tensor:
        """μ_D of every stay, laid flat (eqs 3, 4); 1/|D_i| without self-attention."""
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
