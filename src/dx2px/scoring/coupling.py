"""The default method: a coupling of what is known about each stay with all procedures.

    c_i    = Σ_{d∈D_i} u_d / √|D_i|                    the stay's context
    h_d    = u_d ⊙ (1 + tanh(G c_i + g))               a row of evidence in this context
    π(d,p) ∝ exp(h_d·v_p + s_d + b_p)                  over d ∈ D_i and all p; sums to 1

D_i are the stay's rows of evidence: its diagnoses and, in a model that takes them, the other rows of
`dx2px.scoring.evidence`. Procedures that are coded already are evidence, not questions: p runs over the others.

π has the form of an entropic transport plan. All answers are sums over it: Σ_d π(d,p) ranks the procedures,
Σ_p π(d,p) is the significance of a row, π(d,p) / Σ_d π(d,p) is its share in a procedure.
So reasons are not searched for afterwards: the score is the sum of its reasons.

`dx2px.methods.coupling` learns the arrays; a test keeps its torch formula equal to this one.

Axes: i stays, n rows of evidence of all stays laid flat, p procedures, m dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import InputError
from dx2px.ragged import Ragged
from dx2px.scoring import segments
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.segments import Arrays, Doubles, Floats, check_stays

Coded = tuple[NDArray[np.int64], NDArray[np.int64]]  # places of stays, and procedures
_NONE: Coded = (np.empty(0, np.int64), np.empty(0, np.int64))
_BLOCK = 256  # stays scored at a time, so that their (n, p) arrays stay in the processor's cache


@dataclass(eq=False)
class _Asked:
    """Stays, and the tables computed for them."""

    rows: Ragged
    pairs: Floats  # (n, p)
    coded: Coded  # which procedures are coded in which stays
    coupling: Doubles | None = None  # (n, p)


class CouplingScorer:
    """Scores are log Σ_d exp(h_d·v_p + s_d) + b_p; significance and shares are sums over the same terms.

    A procedure that is coded already has the score −∞.
    """

    def __init__(self, arrays: Arrays, layout: EvidenceLayout | None = None) -> None:
        self.layout = layout
        self.U, self.s = (_stacked(arrays, name) for name in "Us")  # (d, m) (d,)
        self.g, self.b = arrays["g"], arrays["b"]  # (m,) (p,)
        self._targets = segments.Factor(arrays["V"].T)  # (m, p)
        self._gates = segments.Factor(arrays["G"].T)  # (m, m)
        self._last: _Asked | None = None

    @classmethod
    def of(cls, arrays: Arrays, settings: Mapping[str, Any]) -> Self:
        """From the arrays, and the settings that say what their context rows stand for."""
        return cls(arrays, EvidenceLayout.of(arrays, settings))

    def scores(self, diagnoses: Ragged) -> Floats:
        self._check(diagnoses)
        out = segments.by_block(diagnoses, _BLOCK, len(self.b), self._sums)
        out += self.b
        out[self._coded_in(diagnoses)] = -np.inf
        return out  # (i, p)

    def significance(self, diagnoses: Ragged) -> Floats:
        parts = [self.coupling(block).sum(axis=1, dtype=np.float64) for block in diagnoses.blocks(_BLOCK)]
        return np.concatenate([np.empty(0), *parts]).astype(np.float32)  # (n,)

    def coupling(self, diagnoses: Ragged) -> Doubles:
        """π(d, p) of every stay, its rows laid flat; the rows of a stay sum to 1. Do not modify."""
        asked = self._asked(diagnoses)
        if asked.coupling is None:
            asked.coupling = self._coupling(asked)
        return asked.coupling

    def pairs(self, rows: Ragged) -> Floats:
        """h_d·v_p + s_d of every row of evidence and procedure; do not modify."""
        return self._asked(rows).pairs

    def _asked(self, rows: Ragged) -> _Asked:
        """A single stay is asked for scores, significance and reasons in turn, so its tables are kept."""
        if (last := self._known(rows)) is not None:
            return last
        self._check(rows)
        asked = _Asked(rows, self._pairs(rows), self._coded_in(rows))
        if len(rows) == 1:
            self._last = asked
        return asked

    def _known(self, rows: Ragged) -> _Asked | None:
        last = self._last  # once: other threads may ask
        return last if last is not None and last.rows is rows else None

    def _coupling(self, asked: _Asked) -> Doubles:
        rows = asked.rows
        logits = asked.pairs.astype(np.float64) + self.b  # (n, p)
        for stay, procedure in zip(*asked.coded, strict=True):
            logits[rows.offsets[stay] : rows.offsets[stay + 1], procedure] = -np.inf
        highest = np.maximum.reduceat(logits.max(axis=1), rows.offsets[:-1])  # (i,)
        logits -= np.repeat(highest, rows.lengths)[:, None]
        powers = np.exp(logits, out=logits)
        sums = np.add.reduceat(powers.sum(axis=1), rows.offsets[:-1])  # (i,)
        powers /= np.repeat(sums, rows.lengths)[:, None]
        return powers  # (n, p)

    def _coded_in(self, rows: Ragged) -> Coded:
        if (known := self._known(rows)) is not None:
            return known.coded
        return _NONE if self.layout is None else self.layout.coded_in(rows)

    def _check(self, rows: Ragged) -> None:
        if self._known(rows) is not None:
            return
        check_stays(rows, len(self.U))
        if self.layout is not None and np.count_nonzero(rows.values == self.layout.background) != len(rows):
            raise InputError("Every stay needs the background row: make its rows with `stay_rows`.")

    def _sums(self, rows: Ragged) -> Floats:
        """log Σ_d exp(h_d·v_p + s_d), (i, p)."""
        places = segments.Places(rows)
        # A single stay's pairs are kept, for what is asked about it next; its entries have one order only.
        pairs = self.pairs(rows).copy() if len(rows) == 1 else self._placed(places, rows)
        return places.in_first_order(places.log_sum_exp(pairs))

    def _pairs(self, rows: Ragged) -> Floats:
        places = segments.Places(rows)
        found = np.empty((len(rows.values), len(self.b)), np.float32)
        found[places.entries] = self._placed(places, rows)
        return found  # (n, p)

    def _placed(self, places: segments.Places, rows: Ragged) -> Floats:
        """The pairs in the order of the places."""
        codes = rows.values[places.entries]
        h = self.U[codes]  # (n, m)
        c = places.sum(h)  # (i, m)
        c /= np.sqrt(places.lengths).astype(np.float32)[:, None]
        places.multiply(h, 1 + np.tanh(c @ self._gates + self.g))
        found: Floats = h @ self._targets  # (n, p)
        found += self.s[codes][:, None]
        return found


def _stacked(arrays: Arrays, name: str) -> Floats:
    """The rows of the diagnoses and, after them, those of other evidence."""
    others = (f"{kind}_{name}" for kind in ("principal", "coded", "context"))
    parts = [arrays[name], *(arrays[other] for other in others if other in arrays)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
