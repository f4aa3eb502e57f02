"""The default method: a coupling of what is known about each stay with all procedures.

    c_i    = Σ_{d∈D_i} u_d / √|D_i|                    the stay's context
    h_d    = u_d ⊙ (1 + tanh(G c_i + g))               a row of evidence in this context
    π(d,p) ∝ exp(h_d·v_p + s_d + b_p + l_p)            over d ∈ D_i and all p; sums to 1
    l_p    = a_p + Σ_{r∈R_i} A_r·B_p                   what coded procedures do to p's level; 0 if none is coded

D_i are the stay's rows of evidence: its diagnoses and, in a model that takes them, the other rows of
`dx2px.scoring.evidence`. Procedures that are coded already, R_i, are evidence, not questions: p runs over the others.
Each has a row, so it adds terms of its own, as a diagnosis does. But no sum of terms can say that two procedures
exclude each other. So what is coded also moves the level of p (`dx2px.scoring.beside`): all terms of p alike, which
leaves every row's share in p as it was. A model without evidence, or of an earlier version, has no l_p.

π has the form of an entropic transport plan. All answers are sums over it: Σ_d π(d,p) ranks the procedures,
Σ_p π(d,p) is the significance of a row, π(d,p) / Σ_d π(d,p) is its share in a procedure.
So reasons are not searched for afterwards: the score is the sum of its reasons.

`dx2px.methods.coupling` learns the arrays; a test keeps its torch formula equal to this one.

Axes: i stays, n rows of evidence of all stays laid flat, p procedures, m dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import InputError
from dx2px.ragged import Index, Ragged
from dx2px.scoring import segments
from dx2px.scoring.beside import Coded, CodedLevels
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.segments import Arrays, Doubles, Floats, check_stays

_NONE: Coded = (np.empty(0, np.int64), np.empty(0, np.int64))
_BLOCK = 256  # stays scored at a time, so that their (n, p) arrays stay in the processor's cache


@dataclass(eq=False)
class _Asked:
    """Stays, and the tables computed for them."""

    rows: Ragged
    pairs: Floats  # (n, p)
    coded: Coded  # which procedures are coded in which stays
    coupling: Doubles | None = None  # (n, p)

    @cached_property
    def peaks(self) -> Floats:
        """The highest pair of each stay and procedure, (i, p)."""
        found: Floats = (
            self.pairs.max(axis=0, keepdims=True)  # as below, in an eighth of the time
            if len(self.rows) == 1
            else np.maximum.reduceat(self.pairs, self.rows.offsets[:-1], axis=0)
        )
        return found

    @cached_property
    def powers(self) -> Floats:
        """exp of the pairs, relative to their peak, (n, p)."""
        powers: Floats = self.pairs - self.spread(self.peaks)
        return np.exp(powers, out=powers)

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of stays as values of their rows."""
        return values if len(self.rows) == 1 else np.repeat(values, self.rows.lengths, axis=0)

    def sums(self) -> Doubles:
        """Of the powers of each stay and procedure, (i, p)."""
        found: Doubles = (
            self.powers.sum(axis=0, keepdims=True, dtype=np.float64)
            if len(self.rows) == 1
            else np.add.reduceat(self.powers, self.rows.offsets[:-1], axis=0, dtype=np.float64)
        )
        return found


class CouplingScorer:
    """Scores are log Σ_d exp(h_d·v_p + s_d) + b_p + l_p; significance and shares are sums over the same terms.

    A procedure that is coded already has the score −∞.
    """

    def __init__(self, arrays: Arrays, layout: EvidenceLayout | None = None) -> None:
        self.layout = layout
        self.U, self.s = (_stacked(arrays, name) for name in "Us")  # (d, m) (d,)
        self.g, self.b = arrays["g"], arrays["b"]  # (m,) (p,)
        self._targets = segments.Factor(arrays["V"].T)  # (m, p)
        self._gates = segments.Factor(arrays["G"].T)  # (m, m)
        self._levels = CodedLevels.of(arrays)
        self._last: _Asked | None = None

    @classmethod
    def of(cls, arrays: Arrays, settings: Mapping[str, Any]) -> Self:
        """From the arrays, and the settings that say what their context rows stand for."""
        return cls(arrays, EvidenceLayout.of(arrays, settings))

    def scores(self, diagnoses: Ragged) -> Floats:
        if len(diagnoses) == 1:
            asked = self._asked(diagnoses)
            out: Floats = np.log(asked.powers.sum(axis=0, keepdims=True)) + asked.peaks
            coded = asked.coded
        else:
            self._check(diagnoses)
            out = segments.by_block(diagnoses, _BLOCK, len(self.b), self._log_sums)
            coded = self._coded_in(diagnoses)
        out += self.b
        self._settle(out, coded)
        return out  # (i, p)

    def significance(self, diagnoses: Ragged) -> Floats:
        if len(diagnoses) == 1:
            weights: Doubles = self.coupling(diagnoses).sum(axis=1)
            return weights.astype(np.float32)
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

    def features(self, rows: Ragged) -> Floats:
        """h_d of every row of evidence, (n, m)."""
        places = segments.Places(rows)
        found = np.empty((len(rows.values), self.U.shape[1]), np.float32)
        found[places.entries] = self._placed_features(places, rows.values[places.entries])
        return found  # (n, m)

    def _asked(self, rows: Ragged) -> _Asked:
        """A single stay is asked for scores, significance and reasons in turn, so its tables are kept."""
        last = self._last  # once: other threads may ask
        if last is not None and last.rows is rows:
            return last
        self._check(rows)
        asked = _Asked(rows, self._pairs(rows), self._coded_in(rows))
        if len(rows) == 1:
            self._last = asked
        return asked

    def _coupling(self, asked: _Asked) -> Doubles:
        """exp(h_d·v_p + s_d), relative to its peak, times exp(peak + b_p), so that all of a stay sum to 1."""
        heights = asked.peaks.astype(np.float64) + self.b  # (i, p)
        self._settle(heights, asked.coded)
        heights -= heights.max(axis=1, keepdims=True)
        weights = np.exp(heights, out=heights)
        weights /= (weights * asked.sums()).sum(axis=1, keepdims=True)
        found: Doubles = asked.powers * asked.spread(weights)
        return found  # (n, p)

    def _settle(self, heights: NDArray[Any], coded: Coded) -> None:
        """Add l to the levels of the procedures, (i, p), and take out those that are coded; in place."""
        if len(coded[0]):
            if self._levels is not None:
                self._levels.add(heights, coded)
            heights[coded] = -np.inf

    def _coded_in(self, rows: Ragged) -> Coded:
        return _NONE if self.layout is None else self.layout.coded_in(rows)

    def _check(self, rows: Ragged) -> None:
        if len(rows) == 1 and self._is_sound(rows.values.tolist()):
            return
        check_stays(rows, len(self.U))
        if self.layout is not None and np.count_nonzero(rows.values == self.layout.background) != len(rows):
            raise InputError("Every stay needs the background row: make its rows with `stay_rows`.")

    def _is_sound(self, row: list[int]) -> bool:
        """What `_check` asks of stays, of a single one: in a list of ten, Python looks faster than numpy."""
        known = bool(row) and 0 <= min(row) <= max(row) < len(self.U)
        return known and (self.layout is None or row.count(self.layout.background) == 1)

    def _log_sums(self, rows: Ragged) -> Floats:
        """log Σ_d exp(h_d·v_p + s_d), (i, p)."""
        places = segments.Places(rows)
        return places.in_first_order(places.log_sum_exp(self._placed(places, rows)))

    def _pairs(self, rows: Ragged) -> Floats:
        places = segments.Places(rows)
        placed = self._placed(places, rows)
        if len(rows) == 1:
            return placed
        found = np.empty_like(placed)
        found[places.entries] = placed
        return found  # (n, p)

    def _placed(self, places: segments.Places, rows: Ragged) -> Floats:
        """The pairs in the order of the places."""
        codes = rows.values if len(rows) == 1 else rows.values[places.entries]
        found: Floats = self._placed_features(places, codes) @ self._targets  # (n, p)
        found += self.s[codes][:, None]
        return found

    def _placed_features(self, places: segments.Places, codes: Index) -> Floats:
        """h_d in the order of the places, of which these are the codes."""
        h = self.U[codes]  # (n, m)
        c = places.sum(h)  # (i, m)
        c /= np.sqrt(places.lengths).astype(np.float32)[:, None]
        places.multiply(h, 1 + np.tanh(c @ self._gates + self.g))
        return h


def _stacked(arrays: Arrays, name: str) -> Floats:
    """The rows of the diagnoses and, after them, those of other evidence."""
    others = (f"{kind}_{name}" for kind in ("principal", "coded", "context"))
    parts = [arrays[name], *(arrays[other] for other in others if other in arrays)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
