"""Distilled Wasserstein learning (Xu 2018): topics of codes and vectors of codes, learned in turn.

Words are diagnoses and procedures together; a stay is a document, y_i uniform on its codes. Distilled cost
C_nm = ‖x_n − x_m‖^(2τ), scaled to a maximum of 1. Topics B = softmax(R), weights λ_i = softmax(A_i). A batch:

    1. a gradient step on Σ_i ‖y_i − ŷ_i‖² by R and by A, ŷ_i the barycentre of the topics at λ_i      (`barycentre`)
    2. T_i: the optimal transport between y_i and its closest topic, argmax_k λ_ki, under C
    3. X ← X − ρ·2ΛX/batch,  Λ = diag(S1) − S,  S = (Θ + Θᵀ)/2,  Θ = Σ_i T_i,
       half the gradient of Σ_nm Θ_nm ‖x_n − x_m‖², averaged over the batch

Score: x_d·x_p, mean over the diagnoses, the rule of the Word2Vec vectors it starts from; or −‖x_d − x_p‖ (`rule`).

Our choices: re-implemented from the paper, since there is no public code and its supplement could not be obtained.
Started from our Word2Vec ("finetune" in the paper); 110 updates, as many as 5 epochs of the authors' data, or 5 epochs
of this data (`epochs`); ε = 0.01 is kept, so the cost is scaled, since otherwise every off-diagonal entry of the kernel
vanishes; L = 20; step 3 is a mean, since with the sum all vectors collapse; the proximal weight β has no effect if, as
here, one gradient step is taken from the current X. A learns from one or few visits to each stay, so topics are
assigned nearly at random, as at the published step size. Kernel entries below 1e-8 are left out; on NHDS small, in four
updates, this altered the change of R by 80 % and that of X, which alone makes the scores, by 0.01 %, in a whole run by
0.4 % (docs/baselines.md). The distance is the rule of DWL's authors. On vectors that Word2Vec made for inner products
it costs much before any step of DWL, and the paper's rows of DWL and Word2Vec lie within about a point of each other,
as only a common rule explains: so the inner product is the default here. `validation_f1` shows the same vectors under
every rule.

Axes: n words (diagnoses, then procedures), k topics, i stays of a batch, m dimensions.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse  # type: ignore[import-untyped]
from torch import Tensor

from dx2px.errors import InputError, TrainingError
from dx2px.methods.baseline import Baseline, Fitted, Task
from dx2px.methods.counts import incidences
from dx2px.methods.dwl.barycentre import Kernel, barycentres, documents_at_once
from dx2px.methods.dwl.few_targets import transport
from dx2px.methods.word2vec import Word2VecConfig
from dx2px.methods.word2vec import learn as learn_word2vec
from dx2px.scoring.baselines import RULES
from dx2px.scoring.segments import Doubles
from dx2px.training.config import check_training


@dataclass(frozen=True)
class DwlConfig:
    """The published values; the dimension is that of Word2Vec."""

    topics: int = 8
    epsilon: float = 0.01
    tau: float = 0.5
    step: float = 0.05  # ρ
    iterations: int = 20  # L
    least: float = 1e-8  # kernel entries below it are left out; 0 keeps all, at a cost of N² per step
    updates: int = 110
    epochs: int | None = None  # passes over the training stays, instead of a number of updates
    batch_size: int = 256
    rule: str = "inner product"  # of `dx2px.scoring.baselines.RULES`
    word2vec: Word2VecConfig = field(default_factory=Word2VecConfig)

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise InputError(f"The rules of scoring are {', '.join(RULES)}, not {self.rule!r}.")
        check_training({"epochs": self.epochs, "updates": self.updates}, self.step)

    def updates_for(self, stays: int) -> int:
        """The number of updates on so many training stays."""
        return self.updates if self.epochs is None else self.epochs * math.ceil(stays / self.batch_size)


class Dwl(Baseline):
    """Distilled Wasserstein learning, fine-tuning our Word2Vec."""

    method = "dwl"
    options: ClassVar[frozenset[str]] = frozenset({"epochs", "rule"})

    def __init__(self, config: DwlConfig | None = None) -> None:
        self.config = config or DwlConfig()

    @classmethod
    def named(cls, method: str, **options: Any) -> Self:
        """With passes over the stays instead of the usual updates, or with another rule."""
        return cls(DwlConfig(**cls._given(method, options)))

    def _learn(self, task: Task) -> Fitted:
        *_, learned = learn_word2vec(self.config.word2vec, task)
        start = torch.cat(learned).double().numpy()
        stays = sparse.hstack(incidences(task.cohort, task.training), format="csr")  # (i, n)
        learner = Learner(self.config, start, stays, task.seed)
        updates = self.config.updates_for(len(task.training))
        for update in range(updates):
            loss = learner.update()
            task.say(f"update {update + 1} of {updates}, loss {loss:.4g}")
        X = learner.X.astype(np.float32)
        own = {"U": X[: task.sizes[0]], "V": X[task.sizes[0] :]}
        settings = asdict(self.config) | {
            "seed": task.seed,
            "spread_kept": spread(learner.X) / spread(start),
            "validation_f1": task.under_other_rules(own),
        }
        return Fitted(own, settings)


class Learner:
    """X, R and A, and one update of all three."""

    def __init__(self, config: DwlConfig, X: Doubles, stays: sparse.csr_matrix, seed: int) -> None:
        self.config, self.X, self.stays = config, X.copy(), stays
        self.rng = np.random.default_rng(seed)
        self.R = torch.from_numpy(self.rng.standard_normal((len(X), config.topics)))  # (n, k)
        self.A = torch.from_numpy(self.rng.standard_normal((stays.shape[0], config.topics)))  # (stays, k)
        self.waiting = np.empty(0, np.int64)  # stays left in the current pass

    def update(self) -> float:
        """One batch; returns the mean loss of its stays before the update."""
        rows = self._batch()
        C = distilled_cost(self.X, self.config.tau)  # (n, n)
        loss = self._fit_topics(rows, C)
        plans = self.plans(rows, torch.softmax(self.R, 0).numpy(), C)  # (n, n)
        self.X -= self.config.step / len(rows) * laplacian_step(plans, self.X)
        return loss / len(rows)

    def plans(self, rows: NDArray[np.int64], topics: Doubles, C: Doubles) -> sparse.csr_matrix:
        """Step 2: Θ of a batch."""
        closest = self.A[rows].argmax(1).numpy()  # (i,)
        return summed_plans(topics, closest, self.stays[rows], C)

    def _batch(self) -> NDArray[np.int64]:
        if not len(self.waiting):
            self.waiting = self.rng.permutation(self.stays.shape[0])
        rows, self.waiting = np.split(self.waiting, [self.config.batch_size])
        return rows

    def _fit_topics(self, rows: NDArray[np.int64], C: Doubles) -> float:
        """Step 1, in portions that fit into memory; their derivatives are added up."""
        kernel = Kernel.of(C, self.config.epsilon, self.config.least)
        R, A = self.R.clone().requires_grad_(), self.A[rows].requires_grad_()
        size = documents_at_once(kernel, self.config.topics, self.config.iterations)
        total = 0.0
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            documents = self.stays[rows[part]].toarray().T.astype(np.float64)  # (n, i)
            y = torch.from_numpy(documents / documents.sum(0))
            weights = torch.softmax(A[part], 1).T  # (k, i)
            fitted = barycentres(torch.softmax(R, 0), weights, kernel, self.config.iterations)
            loss = (y - fitted).square().sum()
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        assert R.grad is not None
        assert A.grad is not None
        if not (R.grad.isfinite().all() and A.grad.isfinite().all()):
            raise TrainingError("The derivatives of DWL's topics are no longer finite: try a larger epsilon.")
        self.descend(R.grad, A.grad, rows)
        return total

    def descend(self, slope_R: Tensor, slope_A: Tensor, rows: NDArray[np.int64]) -> None:
        """The gradient step of a batch."""
        self.R -= self.config.step * slope_R
        self.A[rows] -= self.config.step * slope_A


def distilled_cost(X: Doubles, tau: float) -> Doubles:
    """‖x_n − x_m‖^(2τ), scaled to a maximum of 1."""
    squares = (X**2).sum(1)
    C = squares[:, None] + squares - 2 * X @ X.T
    C = np.maximum((C + C.T) / 2, 0.0) ** tau
    np.fill_diagonal(C, 0.0)
    scaled: Doubles = C / max(C.max(), np.finfo(np.float64).tiny)
    return scaled  # (n, n)


def summed_plans(
    topics: Doubles, closest: NDArray[np.int64], stays: sparse.csr_matrix, C: Doubles
) -> sparse.csr_matrix:
    """Θ: the exact transports between each stay and its topic, added up, under a symmetric cost."""
    columns = np.ascontiguousarray(topics.T)  # (k, n)
    parts = []
    for row, k in enumerate(closest):
        codes = stays.indices[stays.indptr[row] : stays.indptr[row + 1]]
        plan = transport(columns[k], np.full(len(codes), 1 / len(codes)), C[codes].T)  # (n, codes)
        word, place = np.nonzero(plan)
        parts.append((plan[word, place], word, codes[place]))
    mass, rows, targets = (np.concatenate(part) for part in zip(*parts, strict=True))
    return sparse.csr_matrix((mass, (rows, targets)), shape=C.shape)  # (n, n)


def laplacian_step(plans: sparse.csr_matrix, X: Doubles) -> Doubles:
    """2ΛX."""
    S = (plans + plans.T) / 2
    mass = np.asarray(S.sum(1))  # (n, 1)
    moved: Doubles = 2 * (mass * X - S @ X)
    return moved  # (n, m)


def spread(X: Doubles) -> float:
    """Root mean square distance of the vectors from their mean."""
    return float(np.sqrt(((X - X.mean(0)) ** 2).sum(1).mean()))
