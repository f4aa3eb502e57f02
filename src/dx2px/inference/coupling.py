"""The default model's coupling of diagnoses with procedures (`dx2px.model.coupling`), with numpy alone.

Axes: i stays, n diagnoses of all stays laid flat, p procedures, m dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dx2px.inference import segments
from dx2px.inference.segments import Floats, check_stays
from dx2px.ragged import Ragged

_BLOCK = 256  # stays worked on at a time: their (n, p) arrays stay in the processor's cache


class CouplingScorer:
    """Scores are log Σ_d exp(h_d·v_p + s_d) + b_p; significance and shares are sums over the same terms."""

    def __init__(self, arrays: Mapping[str, NDArray[np.float32]]) -> None:
        self.U, self.g, self.s, self.b = (
            arrays[name] for name in ("U", "g", "s", "b")
        )  # (d, m) (m,) (d,) (p,)
        self._targets = segments.Factor(arrays["V"].T)  # (m, p)
        self._gates = segments.Factor(arrays["G"].T)  # (m, m)
        self._last: tuple[Ragged, Floats] | None = None  # the stay asked about last, and its pairs

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
        """π(d, p) of every stay, its rows laid flat; the rows of a stay sum to 1."""
        logits = self.pairs(diagnoses).astype(np.float64) + self.b  # (n, p)
        highest = np.maximum.reduceat(logits.max(axis=1), diagnoses.offsets[:-1])  # (i,)
        powers = np.exp(logits - np.repeat(highest, diagnoses.lengths)[:, None])
        sums = np.add.reduceat(powers.sum(axis=1), diagnoses.offsets[:-1])  # (i,)
        found: NDArray[np.float64] = powers / np.repeat(sums, diagnoses.lengths)[:, None]
        return found  # (n, p)

    def pairs(self, rows: Ragged) -> Floats:
        """h_d·v_p + s_d of every diagnosis entry and procedure; not to be changed.

        One stay is asked for its scores, its significance and its reasons in turn, so its pairs are kept.
        """
        last = self._last
        if last is not None and last[0] is rows:
            return last[1]
        found = self._pairs(rows)
        if len(rows) == 1:
            self._last = rows, found
        return found  # (n, p)

    def _pairs(self, rows: Ragged) -> Floats:
        u = self.U[rows.values].astype(np.float64)  # (n, m)
        c = np.add.reduceat(u, rows.offsets[:-1], axis=0) / np.sqrt(rows.lengths)[:, None]  # (i, m)
        gate = 1 + np.tanh(c.astype(np.float32) @ self._gates + self.g)  # (i, m)
        h = u.astype(np.float32) * np.repeat(gate, rows.lengths, axis=0)
        found: Floats = h @ self._targets  # (n, p)
        found += self.s[rows.values][:, None]
        return found
