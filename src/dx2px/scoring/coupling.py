"""The default method: a coupling of each stay's diagnoses with all procedures.

    c_i    = Σ_{d∈D_i} u_d / √|D_i|                    the stay's context
    h_d    = u_d ⊙ (1 + tanh(G c_i + g))               a diagnosis in this context
    π(d,p) ∝ exp(h_d·v_p + s_d + b_p)                  over d ∈ D_i and all p; sums to 1

π has the form of an entropic transport plan. All answers are sums over it: Σ_d π(d,p) ranks the procedures,
Σ_p π(d,p) is the significance of a diagnosis, π(d,p) / Σ_d π(d,p) is the share of a diagnosis in a procedure.
So reasons are not searched for afterwards: the score is the sum of its reasons.

`dx2px.methods.coupling` learns the arrays; a test keeps its torch formula equal to this one.

Axes: i stays, n diagnoses of all stays laid flat, p procedures, m dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dx2px.ragged import Ragged
from dx2px.scoring import segments
from dx2px.scoring.segments import Arrays, Doubles, Floats, check_stays

_BLOCK = 256  # stays scored at a time, so that their (n, p) arrays stay in the processor's cache


@dataclass(eq=False)
class _Asked:
    """Stays, and the tables computed for them."""

    rows: Ragged
    pairs: Floats  # (n, p)
    coupling: Doubles | None = None  # (n, p)


class CouplingScorer:
    """Scores are log Σ_d exp(h_d·v_p + s_d) + b_p; significance and shares are sums over the same terms."""

    def __init__(self, arrays: Arrays) -> None:
        self.U, self.g, self.s, self.b = (arrays[name] for name in "Ugsb")  # (d, m) (m,) (d,) (p,)
        self._targets = segments.Factor(arrays["V"].T)  # (m, p)
        self._gates = segments.Factor(arrays["G"].T)  # (m, m)
        self._last: _Asked | None = None

    @classmethod
    def of(cls, arrays: Arrays, settings: Mapping[str, Any]) -> Self:
        """From the arrays alone."""
        return cls(arrays)

    def scores(self, diagnoses: Ragged) -> Floats:
        check_stays(diagnoses, len(self.U))
        out = segments.by_block(
            diagnoses, _BLOCK, len(self.b), lambda block: segments.log_sum_exp(self.pairs(block), block)
        )
        out += self.b
        return out  # (i, p)

    def significance(self, diagnoses: Ragged) -> Floats:
        check_stays(diagnoses, len(self.U))
        parts = [self.coupling(block).sum(axis=1, dtype=np.float64) for block in diagnoses.blocks(_BLOCK)]
        return np.concatenate([np.empty(0), *parts]).astype(np.float32)  # (n,)

    def coupling(self, diagnoses: Ragged) -> Doubles:
        """π(d, p) of every stay, its rows laid flat; the rows of a stay sum to 1. Do not modify."""
        asked = self._asked(diagnoses)
        if asked.coupling is None:
            asked.coupling = self._coupling(diagnoses, asked.pairs)
        return asked.coupling

    def pairs(self, rows: Ragged) -> Floats:
        """h_d·v_p + s_d of every diagnosis entry and procedure; do not modify."""
        return self._asked(rows).pairs

    def _asked(self, rows: Ragged) -> _Asked:
        """A single stay is asked for scores, significance and reasons in turn, so its tables are kept."""
        last = self._last
        if last is not None and last.rows is rows:
            return last
        asked = _Asked(rows, self._pairs(rows))
        if len(rows) == 1:
            self._last = asked
        return asked

    def _coupling(self, diagnoses: Ragged, pairs: Floats) -> Doubles:
        logits = pairs.astype(np.float64) + self.b  # (n, p)
        highest = np.maximum.reduceat(logits.max(axis=1), diagnoses.offsets[:-1])  # (i,)
        powers = np.exp(logits - np.repeat(highest, diagnoses.lengths)[:, None])
        sums = np.add.reduceat(powers.sum(axis=1), diagnoses.offsets[:-1])  # (i,)
        found: Doubles = powers / np.repeat(sums, diagnoses.lengths)[:, None]
        return found  # (n, p)

    def _pairs(self, rows: Ragged) -> Floats:
        scale = (1 / np.sqrt(rows.lengths)).astype(np.float32)  # (i,)
        c = segments.weighted_sum(self.U, np.repeat(scale, rows.lengths), rows)  # (i, m)
        gate = 1 + np.tanh(c @ self._gates + self.g)  # (i, m)
        h = self.U[rows.values] * np.repeat(gate, rows.lengths, axis=0)  # (n, m)
        found: Floats = h @ self._targets  # (n, p)
        found += self.s[rows.values][:, None]
        return found
