"""Word2Vec (Mikolov 2013): skip-gram with negative sampling, a diagnosis predicting the procedures beside it.

    loss = −Σ_i Σ_{d∈S_i} Σ_{p∈Q_i} [ log σ(u_d·v_p) + Σ_{j=1..k} log σ(−u_d·v_{q_j}) ],   q_j ~ π ∝ n_p^¾

U holds the input words (diagnoses), V the output words (procedures only). Score: the mean over S of u_d·v_p.

A batch enters through two matrices over its distinct diagnoses and all procedures: W, how often each pair occurs, and
N, how often each pair was drawn as noise. So loss = −⟨W, log σ(UVᵀ)⟩ − ⟨N, log σ(−UVᵀ)⟩: the same sum with a hundred
times fewer terms. N is replaced by its expectation, k·(row sums of W)·πᵀ, which removes the randomness of the draws.

Our choices, where the paper says nothing: negative sampling with k = 5, without excluding true procedures from the
noise; π ∝ n_p^¾ as in Word2Vec, which moves the score towards pointwise mutual information and so ranks frequent
procedures lower (`noise_power` = 0, uniform noise, leads to log P(p|d)); Adam, batch size and epochs as for the paper's
own model.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from dx2px.methods.baseline import Fitted, Task
from dx2px.methods.initial import initial
from dx2px.methods.vectors import Epochs, VectorBaseline, VectorConfig, kept_vectors
from dx2px.scoring.segments import Floats
from dx2px.training.batch import Batch
from dx2px.training.batches import Batches


@dataclass(frozen=True, kw_only=True)
class Word2VecConfig(VectorConfig):
    """Word2Vec's own k and noise; the rest as for the paper's model."""

    negatives: int = 5
    noise_power: float = 0.75


class Word2Vec(VectorBaseline):
    """Skip-gram from diagnoses to procedures."""

    method = "word2vec"
    settings_class = Word2VecConfig

    def _learn(self, task: Task) -> Fitted:
        own, kept = kept_vectors(self.config, task, learn(self.config, task))
        found = {"seed": task.seed, "validation_f1": task.under_other_rules(own), **kept}
        return Fitted(own, asdict(self.config) | found)


@torch.no_grad()
def learn(config: Word2VecConfig, task: Task) -> Epochs:
    """U and V after each epoch."""
    U, V = initial(task.sizes, config.dim, config.init, task.seed)
    pi = noise(task.seen["popularity"], config.noise_power)
    U.grad, V.grad = torch.zeros_like(U), torch.zeros_like(V)
    adam = torch.optim.Adam((U, V), lr=config.lr, fused=True)
    batches = Batches(task.cohort, task.training, config.batch_size, task.seed)
    for epoch in range(config.epochs):
        for batch in batches.epoch(epoch):
            codes, W = pair_counts(batch, task.sizes[1])  # (q,) (q, p)
            rows = U[codes]  # (q, m)
            slope = derivative(rows @ V.T, W, expected_noise(W, pi, config.negatives))
            U.grad.zero_()
            U.grad[codes] = slope @ V
            torch.mm(slope.T, rows, out=V.grad)
            adam.step()
        yield U, V


def noise(popularity: Floats, power: float) -> Tensor:
    """π: proportional to a power of the number of training stays; a procedure without any is never drawn."""
    weights = np.where(popularity > 0, popularity.astype(np.float64) ** power, 0.0)
    return torch.from_numpy((weights / weights.sum()).astype(np.float32))  # (p,)


def pair_counts(batch: Batch, procedures: int) -> tuple[Tensor, Tensor]:
    """The batch's distinct diagnoses, and how many of its stays have each of them together with each procedure."""
    codes, slot = np.unique(batch.diagnoses.values, return_inverse=True)  # (q,) (n,)
    partners = batch.procedures.take(batch.diagnoses.row_of_entry)  # the procedures of each entry's stay
    keys = slot[partners.row_of_entry] * procedures + partners.values
    W = np.bincount(keys, minlength=len(codes) * procedures).astype(np.float32)
    return torch.from_numpy(codes).long(), torch.from_numpy(W).view(len(codes), procedures)


def expected_noise(W: Tensor, pi: Tensor, negatives: int) -> Tensor:
    """N: what `negatives` draws for each pair come to on average."""
    return torch.outer(negatives * W.sum(1), pi)  # (q, p)


def pair_loss(Z: Tensor, W: Tensor, N: Tensor) -> Tensor:
    """−⟨W, log σ(Z)⟩ − ⟨N, log σ(−Z)⟩."""
    return -(W * logsigmoid(Z)).sum() - (N * logsigmoid(-Z)).sum()


def derivative(Z: Tensor, W: Tensor, N: Tensor) -> Tensor:
    """Of `pair_loss` by Z."""
    return torch.sigmoid(Z).mul_(W + N).sub_(W)  # (q, p)
