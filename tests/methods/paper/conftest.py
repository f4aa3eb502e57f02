"""Random ragged batches, and the oracle: the paper's equations as they read, one stay at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

from dx2px.methods.initial import InitConfig
from dx2px.methods.negatives import sample_negatives
from dx2px.methods.paper.batch import PaperBatch
from dx2px.methods.paper.network import PaperConfig, PaperNetwork
from dx2px.methods.paper.transport import TransportResult
from dx2px.ragged import Ragged

DIAGNOSES, PROCEDURES = 90, 85


@dataclass(frozen=True)
class Literal:
    """Eq 8 and its parts, each summed over the stays."""

    mu: list[Tensor]
    f: list[Tensor]
    predictive: Tensor
    transport: Tensor
    total: Tensor


def literal(network: PaperNetwork, batch: PaperBatch, plans: TransportResult | None) -> Literal:
    """Equations 1 to 8, stay by stay; the plans are given, as constants."""
    config, U, V = network.config, network.U, network.V
    mus, fs = [], []
    predictive = transport = torch.zeros((), dtype=U.dtype)
    for i in range(len(batch)):
        Ui = U[batch.diagnoses[i].astype(np.int64)].T  # (m, d)
        n = Ui.shape[1]
        mu = torch.full((n,), 1.0 / n, dtype=U.dtype)
        if config.fusion == "self-attention":
            w = [torch.softmax(network.a[k] @ torch.tanh(network.A[k] @ Ui), 0) for k in range(config.heads)]
            mu = torch.softmax(network.b @ torch.tanh(network.B @ torch.stack(w)), 0)  # eqs 3, 4
        f = Ui.max(dim=1).values if config.fusion == "max" else Ui @ mu
        for p in batch.procedures[i]:
            predictive = predictive - torch.log(torch.sigmoid(V[p] @ f))  # eqs 1, 2
        for p in batch.negatives[i]:
            predictive = predictive - torch.log(1 - torch.sigmoid(V[p] @ f))
        if plans is not None:
            Vi = V[batch.procedures[i].astype(np.int64)].T  # (m, p)
            C = 1 - (Ui.T @ Vi) / (Ui.norm(dim=0)[:, None] * Vi.norm(dim=0))  # eq 5
            transport = transport + (C * torch.from_numpy(plans[i]).to(U.dtype)).sum()  # eq 6
        mus.append(mu)
        fs.append(f)
    return Literal(mus, fs, predictive, transport, predictive + config.alpha * transport)  # eq 8


@pytest.fixture(autouse=True, scope="session")
def one_torch_thread() -> None:
    """The tests' tensors are far too small to be shared out."""
    torch.set_num_threads(1)


@pytest.fixture
def equations() -> Callable[[PaperNetwork, PaperBatch, TransportResult | None], Literal]:
    return literal


@pytest.fixture
def batch() -> PaperBatch:
    """Stays of every awkward size: one diagnosis, one procedure, both, 41 × 40, and a dozen in between."""
    rng = np.random.default_rng(7)
    sizes = [
        (1, 1),
        (1, 9),
        (12, 1),
        (41, 40),
        *zip(rng.integers(1, 20, 12), rng.integers(1, 9, 12), strict=True),
    ]
    diagnoses = Ragged.from_lists([rng.choice(DIAGNOSES, n, replace=False) for n, _ in sizes])
    procedures = Ragged.from_lists([rng.choice(PROCEDURES, m, replace=False) for _, m in sizes])
    return PaperBatch(
        diagnoses, procedures, negatives=sample_negatives(procedures, PROCEDURES, seed=3, step=1)
    )


@pytest.fixture
def make_network() -> Callable[..., PaperNetwork]:
    """A small network whose vectors are large enough for every term to matter."""

    def make(config: PaperConfig, dtype: torch.dtype = torch.float64) -> PaperNetwork:
        network = PaperNetwork(DIAGNOSES, PROCEDURES, config, dtype)
        return network.init(torch.Generator().manual_seed(5), InitConfig("normal", 0.5, 2.0))

    return make
