"""What training minimises: predictive loss (eq 2), cosine cost (eq 5), transport loss (eq 6), total (eq 8).

Losses are sums over the stays of a batch, as in the paper. The scale of a loss does not change Adam's steps, except
for gradients near its eps (1e-8): a mean over the stays would push small ones below it.

Axes: i stays; n diagnoses, t procedures and c diagnosis-procedure pairs of all stays laid flat (pairs stay by stay, one
row per diagnosis); m dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from dx2px.methods.paper.batch import PaperBatch
from dx2px.methods.paper.kernels import NORM_FLOOR
from dx2px.methods.paper.network import PaperNetwork
from dx2px.methods.paper.transport import TransportConfig, TransportResult, solve
from dx2px.ragged import Ragged, offsets_of


@dataclass(frozen=True)
class Losses:
    """The two terms of eq 8 and their total, summed over the stays; the gradient treats the plans as constants."""

    predictive: Tensor
    transport: Tensor
    total: Tensor
    plans: TransportResult | None


def losses(network: PaperNetwork, batch: PaperBatch, transport: TransportConfig | None = None) -> Losses:
    """Lines 7 to 12 of Algorithm 1 up to the gradient: solve for the plans, hold them fixed, evaluate eq 8."""
    mu = network.significance(batch.diagnoses)  # (n,)
    f = network.fuse(batch.diagnoses, mu)  # (i, m)
    predictive = predictive_loss(f, network.V, batch)
    if not network.config.mutual_attention:
        return Losses(predictive, predictive.new_zeros(()), predictive, None)
    C = cosine_costs(network.U, network.V, batch)  # (c,)
    nu = uniform_procedures(batch.procedures).to(C)  # (t,)
    sizes = batch.diagnoses.lengths, batch.procedures.lengths
    costs, weights, shares = (x.detach().cpu().numpy() for x in (C, mu, nu))
    plans = solve(costs, weights, shares, *sizes, transport)
    cost = (C * torch.from_numpy(plans.plan).to(C)).sum()  # eq 6, T constant
    return Losses(predictive, cost, predictive + network.config.alpha * cost, plans)  # eq 8


def predictive_loss(f: Tensor, V: Tensor, batch: PaperBatch) -> Tensor:
    """−Σ_{P⁺} log σ(v_p·f) − Σ_{P⁻} log(1 − σ(v_p·f)), over all stays (eqs 1, 2)."""
    positive = logits(f, V, batch.procedures)  # (t,)
    negative = logits(f, V, batch.negatives)  # (t,)
    return softplus(-positive).sum() + softplus(negative).sum()


def logits(f: Tensor, V: Tensor, procedures: Ragged) -> Tensor:
    """v_p·f_i for each procedure listed with its stay."""
    code = torch.from_numpy(procedures.values).to(f.device, torch.int64)
    stay = torch.from_numpy(procedures.row_of_entry).to(f.device)
    return (V[code] * f[stay]).sum(1)  # (t,)


def cosine_costs(U: Tensor, V: Tensor, batch: PaperBatch) -> Tensor:
    """c_dp = 1 − cos(u_d, v_p) for every pair of a stay (eq 5)."""
    d, p = (torch.from_numpy(place).to(U.device) for place in pairs(batch))  # (c,) (c,)
    D = torch.from_numpy(batch.diagnoses.values).to(U.device, torch.int64)  # (n,)
    P = torch.from_numpy(batch.procedures.values).to(U.device, torch.int64)  # (t,)
    return 1.0 - (directions(U[D])[d] * directions(V[P])[p]).sum(1)  # (c,)


def directions(X: Tensor) -> Tensor:
    """Rows scaled to length 1; a row of zeros stays as it is."""
    length: Tensor = torch.linalg.vector_norm(X, dim=1, keepdim=True)
    return X / length.clamp_min(NORM_FLOOR)  # (·, m)


def pairs(batch: PaperBatch) -> tuple[np.ndarray, np.ndarray]:
    """The places of every pair of a stay in the flat diagnoses and procedures, row by row."""
    n, m = batch.diagnoses.lengths, batch.procedures.lengths
    start = offsets_of(n * m)
    stay = np.repeat(np.arange(len(batch)), n * m)
    within = np.arange(start[-1]) - start[stay]
    d, p = within // m[stay], within % m[stay]
    return batch.diagnoses.offsets[stay] + d, batch.procedures.offsets[stay] + p  # (c,) (c,)


def uniform_procedures(procedures: Ragged) -> Tensor:
    """μ_P⁺ = 1/|P_i⁺| (section 3.3)."""
    return torch.from_numpy(np.repeat(1.0 / procedures.lengths, procedures.lengths))  # (t,)
