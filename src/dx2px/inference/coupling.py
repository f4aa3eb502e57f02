"""The default model's coupling of diagnoses with procedures (`dx2px.model.coupling`), with numpy alone.

Axes: i stays, n diagnoses of all stays laid flat, p procedures, m dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from dx2px.inference import segments
from dx2px.inference.segments import Floats
from dx2px.ragged import Ragged

_BLOCK = 256  # stays worked on at a time: their (n, p) arrays stay in the processor's cache


class CouplingScorer:
    """Scores are log Σ_d exp(h_d·v_p + s_d) + b_p; significance and shares are sums over the same terms."""

    def __init__(self, arrays: Mapping[str, NDArray[np.float32]]) -> None:
        self.U, self.V, self.G, self.g = (arrays[name] for name in ("U", "V", "G", "g"))
        self.s, self.b = arrays["s"], arrays["b"]  # (d,) (p,)
        self._targets = np.ascontiguousarray(self.V.T)  # (m, p)
        self._gates = np.ascontiguousarray(self.G.T)  # (m, m)

    def scores(self, diagnoses: Ragged) -> Floats:
        out = np.empty((len(diagnoses), len(self.V)), np.float32)
        for start, block in _blocks(diagnoses):
            out[start : start + len(block)] = segments.log_sum_exp(self.pairs(block), block)
        out += self.b
        return out  # (i, p)

    def significance(self, diagnoses: Ragged) -> Floats:
        parts = [self.coupling(block).sum(axis=1, dtype=np.float64) for _, block in _blocks(diagnoses)]
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
        """h_d·v_p + s_d of every diagnosis entry and procedure."""
        u = self.U[rows.values].astype(np.float64)  # (n, m)
        c = np.add.reduceat(u, rows.offsets[:-1], axis=0) / np.sqrt(rows.lengths)[:, None]  # (i, m)
        gate = 1 + np.tanh(segments.product(c.astype(np.float32), self._gates) + self.g)  # (i, m)
        h = u.astype(np.float32) * np.repeat(gate, rows.lengths, axis=0)
        found = segments.product(h, self._targets)  # (n, p)
        found += self.s[rows.values][:, None]
        return found


def _blocks(rows: Ragged) -> Iterator[tuple[int, Ragged]]:
    for start in range(0, len(rows), _BLOCK):
        offsets = rows.offsets[start : start + _BLOCK + 1]
        yield start, Ragged(offsets - offsets[0], rows.values[offsets[0] : offsets[-1]])
