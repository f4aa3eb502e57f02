"""Methods that give each code a vector: how vectors start, and how a pair of them is scored.

Axes: d diagnosis codes, p procedures, m dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch
from torch import Tensor
from torch.nn.functional import normalize

from dx2px.baselines.method import additive
from dx2px.baselines.stays import Seen
from dx2px.baselines.validation import Validation
from dx2px.model.network import InitConfig, ModelConfig, Network

# One start for all methods with vectors, the paper's own among them (a study on NHDS found it best); no source
# states one. It replaces the uniform ±1/M of the GWL authors' code.
START = InitConfig("normal", 0.1)


def initial(sizes: tuple[int, int], dim: int, init: InitConfig, seed: int) -> tuple[Tensor, Tensor]:
    """U and V before learning: those that the paper's model starts from with the same seed."""
    network = Network(*sizes, ModelConfig("e+pooling", dim=dim))
    network.init(torch.Generator().manual_seed(seed), init)
    return network.U.detach(), network.V.detach()  # (d, m) (p, m)


def inner_products(U: Tensor, V: Tensor) -> Tensor:
    """u_d·v_p."""
    return U @ V.T  # (d, p)


def euclidean(U: Tensor, V: Tensor) -> Tensor:
    """−‖u_d − v_p‖, from differences, so that near vectors lose no digits."""
    return -torch.cdist(U, V, compute_mode="donot_use_mm_for_euclid_dist")  # (d, p)


def cosines(U: Tensor, V: Tensor) -> Tensor:
    """cos(u_d, v_p)."""
    return normalize(U, dim=1) @ normalize(V, dim=1).T  # (d, p)


RULES: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = MappingProxyType(
    {"inner product": inner_products, "cosine": cosines, "euclidean": euclidean}
)


def under_other_rules(U: Tensor, V: Tensor, seen: Seen, held_out: Validation) -> dict[str, float]:
    """Validation F1@5 of the same vectors under each rule: what a method owes to its own rule of scoring."""
    tables = {name: rule(U, V).numpy() for name, rule in RULES.items()}
    return {name: round(held_out.f1(additive(seen, t, {}).scores), 4) for name, t in tables.items()}
