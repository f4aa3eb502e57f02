"""The paper's model (eqs 1, 3, 4) from its saved arrays.

Axes: i stays, n diagnoses of all stays laid flat, q diagnosis codes, p procedures, k heads, m dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import ModelError
from dx2px.ragged import Ragged
from dx2px.scoring import segments
from dx2px.scoring.factor import Factor
from dx2px.scoring.scorer import BLOCK
from dx2px.scoring.segments import Arrays, Floats, check_stays

_TABLE_LIMIT = (
    4_000_000  # |D|·|P| up to which UVᵀ is kept: adding up its rows is faster than fusing vectors first
)
_MANY_STAYS = 32  # from this many stays on, tables over the whole vocabulary pay off
_EXP_RANGE = 60.0  # exponentials of numbers this far apart still divide accurately in single precision


class AttentionScorer:
    """The paper's model: eq 1 over a fusion of the diagnoses' vectors, which is self-attention or pooling."""

    def __init__(self, arrays: Arrays, pooling: Literal["max", "mean"] = "max") -> None:
        self.U, self.V = arrays["U"], arrays["V"]  # (q, m) (p, m)
        self.attention = Attention(arrays) if "A" in arrays else None
        self.pooling = pooling

    @classmethod
    def of(cls, arrays: Arrays, settings: Mapping[str, Any]) -> Self:
        """From a model's arrays, and its settings for how to pool diagnoses without self-attention."""
        model = settings.get("model")
        pooling = model.get("pooling", "max") if isinstance(model, Mapping) else "max"
        if pooling not in ("max", "mean"):
            raise ModelError(f"The model's pooling must be max or mean, not {pooling!r}.")
        return cls(arrays, "max" if pooling == "max" else "mean")

    def scores(self, diagnoses: Ragged) -> Floats:
        check_stays(diagnoses, len(self.U))
        return segments.by_block(diagnoses, BLOCK, len(self.V), self._scores)  # (i, p)

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
    def _targets(self) -> Factor:
        return Factor(self.V.T)  # (m, p)

    @cached_property
    def _products(self) -> Floats:
        return self.U @ self._targets  # (q, p)


class Attention:
    """The two-layer self-attention of eqs 3 and 4.

    a_kᵀ tanh(A_k u_d) depends on the code alone, so the first layer is a table. Each row is computed when its code is
    first needed: one question to a large model does not wait for the whole vocabulary.
    """

    def __init__(self, arrays: Arrays) -> None:
        self.U, self.A, self.a = arrays["U"], arrays["A"], arrays["a"]  # (q, m) (k, m, m) (k, m)
        self.b, self._mixing = arrays["b"], Factor(arrays["B"].T)  # (k,) (k, k)
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
        """exp of the whole table, so that a softmax is only a division; None if some values would vanish."""
        table = self.head_scores(np.arange(len(self.U)))  # (q, k)
        table -= table.max(axis=0)
        return np.exp(table) if table.min() > -_EXP_RANGE else None
