"""Gromov–Wasserstein learning (Xu 2019): the graphs of diagnoses and of procedures, aligned and embedded in turn.

Distances from counts over training stays: c = 1/(1 + w), w the number of stays with both codes, 0 on the diagonal;
C^D, C^P within, C^X between the kinds. With κ(x, y) = 1 − exp(−σ (1 − cos(x, y))) and α_m = m/30, in round m:

    1. T couples  (1−α) C^D + α κ(U,U)  with  (1−α) C^P + α κ(V,V),  linear cost α κ(U,V)          (`gromov`)
    2. Adam on  α ⟨κ(U,V), T⟩ + 10·Reg,   Reg = ‖κ(U,U) − C^D‖² + ‖κ(V,V) − C^P‖² + ‖κ(U,V) − C^X‖²

Score: −κ(u_d, v_p), mean over the diagnoses, which ranks as the sum does.

Our choices: this is the paper's cosine variant. The released code differs from the paper (another distance, mixing and
loss) and was not used. Node weights are numbers of stays, since a code that only occurs alone has no degree; counts are
symmetric. Where the paper says nothing: a batch of step 2 has 100 diagnoses, drawn without replacement within an epoch,
and 100 procedures, and all terms are restricted to them; Reg is a sum, so the coupling has little influence; the
coupling's loop ends once the plan changes by less than 1e-4. On NHDS it does not within the published 200 steps; the
scores, which Reg decides, are the same without it. A perfect fit of Reg scores by 1/(1 + w), which is flat beyond about
twenty common stays: good at finding some fitting procedure, poor at their order. And there is no perfect fit: with more
stays, more pairs of codes have to be close to each other, until no vectors can be. Both are measured in
docs/baselines.md.

Axes: d diagnosis codes, p procedures, m dimensions; s and t the codes of a batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from scipy import sparse  # type: ignore[import-untyped]
from torch import Tensor
from torch.nn.functional import normalize

from dx2px.methods.baseline import Baseline, Fitted, Task
from dx2px.methods.counts import column_sums, incidences
from dx2px.methods.gwl.gromov import Coupling, CouplingConfig, couple
from dx2px.methods.initial import InitConfig, initial, vectors


@dataclass(frozen=True)
class GwlConfig:
    """The published values, except the dimension, which is 200 for every method."""

    sigma: float = 10.0
    rounds: int = 30
    epochs: int = 5
    nodes: int = 100
    lr: float = 0.001
    fit: float = 10.0  # the weight of Reg
    coupling: CouplingConfig = field(default_factory=CouplingConfig)
    dim: int = 200
    init: InitConfig = field(default_factory=InitConfig)


@dataclass(frozen=True, eq=False)
class Graphs:
    """Distances computed from counts, and the weights of the codes."""

    D: Tensor  # (d, d)
    P: Tensor  # (p, p)
    X: Tensor  # (d, p)
    mu: Tensor  # (d,)
    nu: Tensor  # (p,)

    @classmethod
    def of(cls, D: sparse.csr_matrix, P: sparse.csr_matrix) -> Graphs:
        """From the 0/1 matrices of the stays. A code that no stay has gets no weight, and distance 1 to all others."""
        n_d, n_p = column_sums(D), column_sums(P)
        within = [1 / (1 + (X.T @ X).toarray()) for X in (D, P)]
        for distances in within:
            np.fill_diagonal(distances, 0.0)
        parts = (*within, 1 / (1 + (D.T @ P).toarray()), n_d / n_d.sum(), n_p / n_p.sum())
        return cls(*(torch.from_numpy(part.astype(np.float32)) for part in parts))


class Gwl(Baseline):
    """Gromov–Wasserstein learning, GWL-C."""

    method = "gwl"

    def __init__(self, config: GwlConfig | None = None) -> None:
        self.config = config or GwlConfig()

    def _learn(self, task: Task) -> Fitted:
        config = self.config
        graphs = Graphs.of(*incidences(task.cohort, task.training))
        embedding = Embedding(
            config, graphs, initial(task.sizes, config.dim, config.init, task.seed), task.seed
        )
        found = []
        for number in range(config.rounds):
            alpha = number / config.rounds
            coupling = embedding.couple(alpha)
            embedding.fit(alpha, coupling.plan)
            found.append(coupling)
            task.say(f"round {number + 1}, steps {coupling.steps}, column error {coupling.column_error:.2g}")
        own = {**vectors((embedding.U, embedding.V)), "sigma": np.array(config.sigma, np.float32)}
        settings = asdict(config) | {
            "seed": task.seed,
            "couplings": _evidence(found, config.coupling),
            "validation_f1": task.under_other_rules(own),
        }
        return Fitted(own, settings)


class Embedding:
    """U and V, and their two steps."""

    def __init__(self, config: GwlConfig, graphs: Graphs, start: tuple[Tensor, Tensor], seed: int) -> None:
        self.config, self.graphs = config, graphs
        self.U, self.V = (X.requires_grad_() for X in start)
        self.adam = torch.optim.Adam((self.U, self.V), lr=config.lr, fused=True)
        self.rng = np.random.default_rng(seed)

    @torch.no_grad()
    def couple(self, alpha: float) -> Coupling:
        """Step 1: T of a round."""
        g, sigma = self.graphs, self.config.sigma
        Hd, Hp, K = g.D, g.P, torch.zeros_like(g.X)
        if alpha:
            Hd = torch.lerp(g.D, kappa(self.U, self.U, sigma), alpha)
            Hp = torch.lerp(g.P, kappa(self.V, self.V, sigma), alpha)
            K = alpha * kappa(self.U, self.V, sigma)
        return couple(Hd, Hp, g.mu, g.nu, K, self.config.coupling)

    def fit(self, alpha: float, plan: Tensor) -> None:
        """Step 2: the epochs of a round."""
        for s, t in self._batches():
            self.adam.zero_grad()
            loss(self.config, self.graphs, self.U[s], self.V[t], s, t, alpha, plan).backward()  # type: ignore[no-untyped-call]
            self.adam.step()

    def _batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        size, (d, p) = self.config.nodes, self.graphs.X.shape
        for _ in range(self.config.epochs):
            order = self.rng.permutation(d)
            for start in range(0, d, size):
                procedures = self.rng.choice(p, min(size, p), replace=False)
                yield torch.from_numpy(order[start : start + size]), torch.from_numpy(procedures)


def loss(
    config: GwlConfig, graphs: Graphs, U: Tensor, V: Tensor, s: Tensor, t: Tensor, alpha: float, plan: Tensor
) -> Tensor:
    """α ⟨κ(U,V), T⟩ + 10·Reg over the chosen codes s and t, whose vectors are U and V."""
    across = kappa(U, V, config.sigma)  # (s, t)
    reg = (
        (kappa(U, U, config.sigma) - graphs.D[s][:, s]).square().sum()
        + (kappa(V, V, config.sigma) - graphs.P[t][:, t]).square().sum()
        + (across - graphs.X[s][:, t]).square().sum()
    )
    return alpha * (across * plan[s][:, t]).sum() + config.fit * reg


def kappa(X: Tensor, Y: Tensor, sigma: float) -> Tensor:
    """1 − exp(−σ (1 − cos))."""
    cosines = normalize(X, dim=1) @ normalize(Y, dim=1).T
    return -torch.expm1(sigma * (cosines - 1))  # (·, ·)


def _evidence(couplings: list[Coupling], config: CouplingConfig) -> dict[str, Any]:
    """How the rounds' couplings ended."""
    return {
        "steps": sum(coupling.steps for coupling in couplings),
        "unconverged": sum(not coupling.converged(config) for coupling in couplings),
        "worst_column_error": max(coupling.column_error for coupling in couplings),
    }
