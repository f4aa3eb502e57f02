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
from copy import copy
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
from dx2px.scoring.factor import Factor, Right
from dx2px.scoring.segments import Arrays, Doubles, Floats, check_stays
from dx2px.scoring.selection import Selection

_NONE: Coded = (np.empty(0, np.int64), np.empty(0, np.int64))
_BLOCK = 256  # stays scored at a time, so that their (n, p) arrays stay in the processor's cache


@dataclass(eq=False)
class _Asked:
    """Stays, and the tables computed for them: rows and stays come in the order of the places."""

    rows: Ragged
    places: segments.Places
    pairs: Floats  # (n, p)
    coded: Coded  # which procedures are coded in which stays, as they came
    coupling: Doubles | None = None  # (n, p)

    @cached_property
    def peaks(self) -> Floats:
        """The highest pair of each stay and procedure, (i, p)."""
        return self.places.peaks(self.pairs)

    @cached_property
    def powers(self) -> Floats:
        """exp of the pairs, relative to their peak, (n, p)."""
        powers = self.places.without(self.pairs, self.peaks)
        return np.exp(powers, out=powers)

    def log_sums(self) -> Floats:
        """log Σ_d exp(h_d·v_p + s_d) of each stay and procedure, (i, p)."""
        return self.places.log_sums(self.powers, self.peaks)


@dataclass(frozen=True, eq=False)
class Scored:
    """What a stay's answer is made of."""

    scores: Floats  # (p,)
    significance: Floats  # (n,)
    coupling: Doubles | None = None  # (n, p) of a method that explains so


class CouplingScorer:
    """Scores are log Σ_d exp(h_d·v_p + s_d) + b_p + l_p; significance and shares are sums over the same terms.

    A procedure that is coded already has the score −∞.
    """

    def __init__(self, arrays: Arrays, layout: EvidenceLayout | None = None) -> None:
        self.layout = layout
        self.U, self.s = (_stacked(arrays, name) for name in "Us")  # (d, m) (d,)
        self.g, self.b = arrays["g"], arrays["b"]  # (m,) (p,)
        self._targets: Right = Factor(arrays["V"].T)  # (m, p)
        self._gates = Factor(arrays["G"].T)  # (m, m)
        self._levels = CodedLevels.of(arrays)
        self._chosen: Selection | None = None  # of a narrowed one
        self._last: _Asked | None = None

    @classmethod
    def of(cls, arrays: Arrays, settings: Mapping[str, Any]) -> Self:
        """From the arrays, and the settings that say what their context rows stand for."""
        return cls(arrays, EvidenceLayout.of(arrays, settings))

    def scores(self, diagnoses: Ragged) -> Floats:
        if len(diagnoses) == 1:
            return self._scores(self._asked(diagnoses))
        self._check(diagnoses)
        out = segments.by_block(diagnoses, _BLOCK, len(self.b), self._log_sums)
        return self._levelled(out, self.coded_in(diagnoses))  # (i, p)

    def significance(self, diagnoses: Ragged) -> Floats:
        if len(diagnoses) == 1:
            return self._significance(self._asked(diagnoses))
        parts = [self._significance(self._asked(block)) for block in diagnoses.blocks(_BLOCK)]
        return np.concatenate([np.empty(0, np.float32), *parts])  # (n,)

    def coupling(self, diagnoses: Ragged) -> Doubles:
        """π(d, p) of every stay, its rows laid flat; the rows of a stay sum to 1. Do not modify."""
        asked = self._asked(diagnoses)
        return asked.places.in_entry_order(self._coupling(asked))

    def each(self, stays: Ragged) -> list[Scored]:
        """All about each of a few stays, computed in one pass: the same numbers as of each alone."""
        asked = self._asked(stays)
        scores, weights = self._scores(asked), self._significance(asked)
        mass = asked.places.in_entry_order(self._coupling(asked))
        ends = zip(scores, stays.offsets.tolist(), stays.offsets[1:].tolist(), strict=False)
        return [Scored(score, weights[start:end], mass[start:end]) for score, start, end in ends]

    def pairs(self, rows: Ragged) -> Floats:
        """h_d·v_p + s_d of every row of evidence and procedure; do not modify."""
        asked = self._asked(rows)
        return asked.places.in_entry_order(asked.pairs)

    def features(self, rows: Ragged) -> Floats:
        """h_d of every row of evidence, (n, m)."""
        places = segments.Places(rows)
        found: Floats = places.in_entry_order(self._placed_features(places, rows.values[places.entries]))
        return found  # (n, m)

    def alone(self, codes: Index) -> Floats:
        """h·v_p + b_p + l_p of each of some rows of evidence, (n, p), in a stay that has nothing else.

        Of a model with evidence, such a stay has the background, too.
        """
        beside = [] if self.layout is None else [self.layout.background]
        rows = Ragged.from_lists([[code, *(one for one in beside if one != code)] for code in codes.tolist()])
        found: Floats = self.features(rows)[rows.offsets[:-1]] @ self._targets
        return self._levelled(found, self.coded_in(rows))

    def narrowed(self, chosen: Selection, targets: Right, coded: bool) -> Self:
        """The same over some procedures, for a single stay; `targets` are their vectors, (m, c).

        If the stay has some `coded` ones, they must be among the chosen.
        """
        found = copy(self)
        found.b, found._targets, found._chosen, found._last = chosen.of(self.b), targets, chosen, None
        found._levels = self._levels.narrowed(chosen) if coded and self._levels is not None else None
        return found

    def _asked(self, rows: Ragged) -> _Asked:
        """A single stay is asked for scores, significance and reasons in turn, so its tables are kept."""
        last = self._last  # once: other threads may ask
        if last is not None and last.rows is rows:
            return last
        self._check(rows)
        places = segments.Places(rows)
        asked = _Asked(rows, places, self._placed(places, rows), self.coded_in(rows))
        if len(rows) == 1:
            self._last = asked
        return asked

    def _scores(self, asked: _Asked) -> Floats:
        return self._levelled(asked.places.in_first_order(asked.log_sums()), asked.coded)

    def _levelled(self, out: Floats, coded: Coded) -> Floats:
        """Adds b and l, and takes out what is coded already."""
        out += self.b
        self._settle(out, coded)
        return out  # (i, p)

    def _significance(self, asked: _Asked) -> Floats:
        weights: Doubles = asked.places.in_entry_order(segments.total(self._coupling(asked), self._counts))
        return weights.astype(np.float32)  # (n,)

    def _coupling(self, asked: _Asked) -> Doubles:
        """exp(h_d·v_p + s_d), relative to its peak, times exp(peak + b_p), so that all of a stay sum to 1."""
        if asked.coupling is None:
            heights = asked.peaks.astype(np.float64) + self.b  # (i, p)
            stays, coded = asked.coded
            self._settle(heights, (asked.places.rank[stays], coded))
            heights -= heights.max(axis=1, keepdims=True)
            weights = np.exp(heights, out=heights)
            sums = asked.places.sum(asked.powers, np.float64)
            weights /= segments.total(weights * sums, self._counts)[:, None]
            asked.coupling = asked.places.multiplied(asked.powers, weights)
        return asked.coupling  # (n, p)

    def _settle(self, heights: NDArray[Any], coded: Coded) -> None:
        """Add l to the levels of the procedures, (i, p), and take out those that are coded; in place."""
        if len(coded[0]):
            if self._levels is not None:
                self._levels.add(heights, coded)
            heights[coded] = -np.inf

    def coded_in(self, rows: Ragged) -> Coded:
        """Which procedures are coded already in which stays."""
        stays, coded = _NONE if self.layout is None else self.layout.coded_in(rows)
        return stays, coded if self._chosen is None else self._chosen.places(coded)

    @property
    def _counts(self) -> Doubles | None:
        return None if self._chosen is None else self._chosen.counts

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

    def _placed(self, places: segments.Places, rows: Ragged) -> Floats:
        """The pairs in the order of the places."""
        codes = rows.values if len(rows) == 1 else rows.values[places.entries]
        return self._targets.product(self._placed_features(places, codes), self.s[codes])  # (n, p)

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
