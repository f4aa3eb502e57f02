"""Scores of all procedures for sets of diagnoses, from the arrays of a saved model, with numpy alone.

Axes: i stays, n diagnoses of all stays laid flat, q diagnosis codes, p procedures, k heads, m dimensions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import ModelError
from dx2px.inference import segments
from dx2px.inference.baseline_scoring import BASELINE_SCORERS, baseline_scorer
from dx2px.inference.coupling import CouplingScorer
from dx2px.inference.segments import Floats, check_stays
from dx2px.model.folder import ModelFiles
from dx2px.model.ranking import top_l
from dx2px.ragged import Ragged

BLOCK = 2048  # stays worked on at a time: their arrays stay in the processor's cache
_TABLE_LIMIT = 4_000_000  # |D|·|P| up to which UVᵀ is kept: adding up its rows beats fusing vectors first
_MANY_STAYS = 32  # from which on tables over the whole vocabulary are worth their making
_EXP_RANGE = 60.0  # exponentials of numbers so far apart still divide exactly enough in single precision


class Scorer(Protocol):
    """What every method offers once it is loaded. Rows hold distinct diagnoses, at least one."""

    def scores(self, diagnoses: Ragged) -> Floats:
        """The score of each procedure for each stay, (i, p)."""

    def significance(self, diagnoses: Ragged) -> Floats:
        """The weight of each diagnosis in its stay, laid flat as `diagnoses.values`; sums to 1 in each stay."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """The best procedures of each stay, best first, equal scores by index."""

    procedures: NDArray[np.int32]  # (i, top)
    scores: Floats  # (i, top)


def rank(scorer: Scorer, diagnoses: Ragged, top: int = 10, threads: int | None = None) -> Ranked:
    """Score many stays and keep the best of each, block by block, with one thread a processor."""
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        parts = list(pool.map(lambda block: _rank_block(scorer, block, top), diagnoses.blocks(BLOCK)))
    if not parts:
        return Ranked(np.empty((0, top), np.int32), np.empty((0, top), np.float32))
    return Ranked(np.concatenate([p for p, _ in parts]), np.concatenate([s for _, s in parts]))


def _rank_block(scorer: Scorer, block: Ragged, top: int) -> tuple[NDArray[np.int32], Floats]:
    scores = scorer.scores(block)
    best = top_l(scores, top)
    return best, np.take_along_axis(scores, best.astype(np.int64), axis=1)


class AttentionScorer:
    """The paper's model: eq 1 over a fusion of the diagnoses' vectors, which is self-attention or pooling."""

    def __init__(self, arrays: Mapping[str, NDArray[np.float32]], pooling: Literal["max", "mean"] = "max"):
        self.U, self.V = arrays["U"], arrays["V"]  # (q, m) (p, m)
        self.attention = Attention(arrays) if "A" in arrays else None
        self.pooling = pooling

    def scores(self, diagnoses: Ragged) -> Floats:
        check_stays(diagnoses, len(self.U))
        out = np.empty((len(diagnoses), len(self.V)), np.float32)
        start = 0
        for block in diagnoses.blocks(BLOCK):
            out[start : start + len(block)] = self._scores(block)
            start += len(block)
        return out  # (i, p)

    def significance(self, diagnoses: Ragged) -> Floats:
        check_stays(diagnoses, len(self.U))
        parts = [self._significance(block) for block in diagnoses.blocks(BLOCK)]
        return np.concatenate([np.empty(0, np.float32), *parts])  # (n,)

    def _scores(self, block: Ragged) -> Floats:
        if self.attention is None and self.pooling == "max":
            return segments.largest(self.U, block) @ self._targets  # (i, p)
        mu = self._significance(block)  # (n,)
        if len(block) >= _MANY_STAYS and len(self.U) * len(self.V) <= _TABLE_LIMIT:
            return segments.weighted_sum(self._products, mu, block)  # (i, p)
        return segments.weighted_sum(self.U, mu, block) @ self._targets  # (i, p)

    def _significance(self, block: Ragged) -> Floats:
        return segments.uniform(block) if self.attention is None else self.attention.weights(block)

    @cached_property
    def _targets(self) -> segments.Factor:
        return segments.Factor(self.V.T)  # (m, p)

    @cached_property
    def _products(self) -> Floats:
        return self.U @ self._targets  # (q, p)


class Attention:
    """The two-layer self-attention of eqs 3 and 4.

    a_kᵀ tanh(A_k u_d) depends on the code alone, so the first layer is a table, each row computed once, when
    its code is first asked about: one question to a large model does not wait for the whole vocabulary.
    """

    def __init__(self, arrays: Mapping[str, NDArray[np.float32]]) -> None:
        self.U, self.A, self.a = arrays["U"], arrays["A"], arrays["a"]  # (q, m) (k, m, m) (k, m)
        self.b, self._mixing = arrays["b"], segments.Factor(arrays["B"].T)  # (k,) (k, k)
        self._table = np.zeros((len(self.U), len(self.A)), np.float32)  # (q, k)
        self._computed = np.zeros(len(self.U), np.bool_)

    def weights(self, rows: Ragged) -> Floats:
        """μ of every stay, laid flat."""
        ready = self.exponentials if len(rows) >= _MANY_STAYS else None
        if ready is None:
            W = segments.softmax(self.head_scores(rows.values), rows)  # (n, k)  eq 3
        else:
            W = segments.shares(ready.take(rows.values, axis=0), rows)  # (n, k)  eq 3
        H = W @ self._mixing  # (n, k)
        return segments.softmax(np.einsum("nk,k->n", np.tanh(H, out=H), self.b), rows)  # (n,)  eq 4

    def head_scores(self, codes: NDArray[np.integer]) -> Floats:
        """a_kᵀ tanh(A_k u_d) of each code."""
        new = np.unique(codes[~self._computed[codes]])
        if len(new):
            X = self.U[new].astype(np.float64)
            heads = [np.tanh(X @ A_k.T) @ a_k for A_k, a_k in zip(self.A, self.a, strict=True)]
            self._table[new] = np.stack(heads, axis=1)
            self._computed[new] = True
        return self._table.take(codes, axis=0)  # (n, k)

    @cached_property
    def exponentials(self) -> Floats | None:
        """exp of the whole table, for a softmax by division alone; None where some of them would vanish."""
        table = self.head_scores(np.arange(len(self.U)))  # (q, k)
        table -= table.max(axis=0)
        return np.exp(table) if table.min() > -_EXP_RANGE else None


def _attention_scorer(files: ModelFiles) -> Scorer:
    settings = files.settings.get("model")
    pooling = settings.get("pooling", "max") if isinstance(settings, Mapping) else "max"
    if pooling not in ("max", "mean"):
        raise ModelError(f"The model's pooling must be max or mean, not {pooling!r}.")
    return AttentionScorer(files.arrays, "max" if pooling == "max" else "mean")


SCORERS: Mapping[str, Callable[[ModelFiles], Scorer]] = {
    "e+pooling": _attention_scorer,
    "e+sa": _attention_scorer,
    "e+ma": _attention_scorer,
    "e+sa+ma": _attention_scorer,
    "coupling": lambda files: CouplingScorer(files.arrays),
    **dict.fromkeys(BASELINE_SCORERS, baseline_scorer),
}


def scorer_for(files: ModelFiles) -> Scorer:
    """The scorer of a model's method."""
    if files.method not in SCORERS:
        raise ModelError(
            f"Models of the method {files.method!r} cannot recommend; known: {', '.join(SCORERS)}."
        )
    return SCORERS[files.method](files)
