"""The default model's coupling of diagnoses with procedures (`dx2px.model.coupling`), with numpy alone.

Axes: i stays, n diagnoses of all stays laid flat, p procedures, m dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.inference import segments
from dx2px.inference.segments import Floats, check_stays
from dx2px.ragged import Ragged

_BLOCK = 256  # stays worked on at a time: their (n, p) arrays stay in the processor's cache


@dataclass(eq=False)
class _Asked:
    """Stays, and the tables that were made of them."""

    rows: Ragged
    pairs: Floats  # (n, p)
    coupling: NDArray[np.float64] | None = None  # (n, p)


class CouplingScorer:
    """Scores are log Σ_d exp(h_d·v_p + s_d) + b_p; significance and shares are sums over the same terms."""

    def __init__(self, arrays: Mapping[str, NDArray[np.float32]]) -> None:
        self.U, self.g, self.s, self.b = (
            arrays[name] for name in ("U", "g", "s", "b")
        )  # (d, m) (m,) (d,) (p,)
        self._targets = segments.Factor(arrays["V"].T)  # (m, p)
        self._gates = segments.Factor(arrays["G"].T)  # (m, m)
        self._last: _Asked | None = None

    def scores(self, diagnoses: Ragged) -> Floats:
        check_stays(diagnoses, len(self.U))
        out = np.empty((len(diagnoses), len(self.b)), np.float32)
        start = 0
        for block in diagnoses.blocks(_BLOCK):
            out[start : start + len(block)] = segments.log_sum_exp(self.pairs(block), block)
            start += len(block)
        out += self.b
        return out  # (i, p)

    def significance(self, diagnoses: Ragged) -> Floats:
        check_stays(diagnoses, len(self.U))
        parts = [self.coupling(block).sum(axis=1, dtype=np.float64) for block in diagnoses.blocks(_BLOCK)]
        return np.concatenate([np.empty(0), *parts]).astype(np.float32)  # (n,)

    def coupling(self, diagnoses: Ragged) -> NDArray[np.float64]:
        """π(d, p) of every stay, its rows laid flat; the rows of a stay sum to 1. Not to be changed."""
        asked = self._asked(diagnoses)
        if asked.coupling is None:
            asked.coupling = self._coupling(diagnoses, asked.pairs)
        return asked.coupling

    def pairs(self, rows: Ragged) -> Floats:
        """h_d·v_p + s_d of every diagnosis entry and procedure; not to be changed."""
        return self._asked(rows).pairs

    def _asked(self, rows: Ragged) -> _Asked:
        """One stay is asked for its scores, its significance and its reasons in turn, so its tables are kept."""
        last = self._last
        if last is not None and last.rows is rows:
            return last
        asked = _Asked(rows, self._pairs(rows))
        if len(rows) == 1:
            self._last = asked
        return asked

    def _coupling(self, diagnoses: Ragged, pairs: Floats) -> NDArray[np.float64]:
        logits = pairs.astype(np.float64) + self.b  # (n, p)
        highest = np.maximum.reduceat(logits.max(axis=1), diagnoses.offsets[:-1])  # (i,)
        powers = np.exp(logits - np.repeat(highest, diagnoses.lengths)[:, None])
        sums = np.add.reduceat(powers.sum(axis=1), diagnoses.offsets[:-1])  # (i,)
        found: NDArray[np.float64] = powers / np.repeat(sums, diagnoses.lengths)[:, None]
        return found  # (n, p)

    def _pairs(self, rows: Ragged) -> Floats:
        scale = (1 / np.sqrt(rows.lengths)).astype(np.float32)  # (i,)
        c = segments.weighted_sum(self.U, np.repeat(scale, rows.lengths), rows)  # (i, m)
        gate = 1 + np.tanh(c @ self._gates + self.g)  # (i, m)
        h = self.U[rows.values] * np.repeat(gate, rows.lengths, axis=0)  # (n, m)
        found: Floats = h @ self._targets  # (n, p)
        found += self.s[rows.values][:, None]
        return found
