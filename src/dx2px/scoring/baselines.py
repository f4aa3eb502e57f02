"""The methods that the paper's model is compared with, from their saved arrays.

Each of them keeps `seen` (1 for each diagnosis that some training stay had) and `popularity` (training stays with each
procedure): diagnoses that were never seen are left out, and a stay with no others is scored by popularity.

Axes: i stays, n diagnoses of all stays laid flat, d diagnosis codes, p procedures, h hidden units, m dimensions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from dx2px.errors import ModelError
from dx2px.ragged import Ragged
from dx2px.scoring import segments
from dx2px.scoring.factor import Factor
from dx2px.scoring.segments import Arrays, Floats, check_codes, directions


class PopularityScorer:
    """s_p = n_p, and the rule for unseen diagnoses, which the other methods share."""

    def __init__(self, arrays: Arrays) -> None:
        self.seen = arrays["seen"] > 0  # (d,)
        self.popularity = arrays["popularity"]  # (p,)

    @classmethod
    def of(cls, arrays: Arrays, settings: Mapping[str, Any]) -> Self:
        """From the arrays alone."""
        return cls(arrays)

    def scores(self, diagnoses: Ragged) -> Floats:
        """The score of each procedure for each stay, (i, p); a stay may be empty."""
        known = self._known(diagnoses)
        some = np.flatnonzero(known.lengths)
        if len(some) == len(known) > 0:
            return self._score(known)
        out = np.tile(self.popularity, (len(known), 1))
        if len(some):
            out[some] = self._score(known.take(some))
        return out

    def significance(self, diagnoses: Ragged) -> Floats:
        """The same weight for each seen diagnosis of a stay; for all of them if none was seen."""
        check_codes(diagnoses, len(self.seen))
        counted = self.seen[diagnoses.values].astype(np.float32)  # (n,)
        owner, lengths = diagnoses.row_of_entry, diagnoses.lengths
        seen = np.bincount(owner, counted, len(diagnoses))  # (i,)
        weights = np.where(seen[owner] > 0, counted / np.maximum(seen, 1)[owner], 1 / lengths[owner])
        return weights.astype(np.float32)  # (n,)

    def _score(self, known: Ragged) -> Floats:
        """The scores of stays that have only seen diagnoses, at least one each."""
        return np.tile(self.popularity, (len(known), 1))

    def _known(self, diagnoses: Ragged) -> Ragged:
        check_codes(diagnoses, len(self.seen))
        return diagnoses.filtered(self.seen[diagnoses.values])


class TableScorer(PopularityScorer):
    """The mean of a table's rows over a stay's diagnoses."""

    def __init__(self, arrays: Arrays) -> None:
        super().__init__(arrays)
        self.arrays = arrays

    @cached_property
    def table(self) -> Floats:
        """A number for each pair of codes."""
        return self.arrays["T"]  # (d, p)

    def _score(self, known: Ragged) -> Floats:
        return segments.weighted_sum(self.table, segments.uniform(known), known)


class VectorScorer(TableScorer, ABC):
    """A table computed from the codes' vectors, by a rule for pairs of them."""

    @cached_property
    def table(self) -> Floats:
        """A number for each pair of vectors."""
        return self._pairs(self.arrays["U"], self.arrays["V"])  # (d, p)

    @abstractmethod
    def _pairs(self, U: Floats, V: Floats) -> Floats: ...


class InnerProductScorer(VectorScorer):
    """u_d·v_p."""

    def _pairs(self, U: Floats, V: Floats) -> Floats:
        products: Floats = U @ Factor(V.T)
        return products


class EuclideanScorer(VectorScorer):
    """−‖u_d − v_p‖; squares in double precision, since they nearly cancel for close vectors."""

    def _pairs(self, U: Floats, V: Floats) -> Floats:
        U2, V2 = U.astype(np.float64), V.astype(np.float64)
        squares = (U2**2).sum(1)[:, None] + (V2**2).sum(1) - 2 * U2 @ V2.T
        table: Floats = -np.sqrt(np.maximum(squares, 0)).astype(np.float32)
        return table


class CosineScorer(VectorScorer):
    """cos(u_d, v_p)."""

    def _pairs(self, U: Floats, V: Floats) -> Floats:
        return (directions(U) @ directions(V).T).astype(np.float32)


class KappaScorer(VectorScorer):
    """−κ(u_d, v_p), κ = 1 − exp(−σ (1 − cos)), σ ≥ 0."""

    def __init__(self, arrays: Arrays) -> None:
        super().__init__(arrays)
        if arrays["sigma"] < 0:
            raise ModelError("The model cannot be used: its sigma is negative.")

    def _pairs(self, U: Floats, V: Floats) -> Floats:
        cosines = directions(U) @ directions(V).T
        table: Floats = np.expm1(float(self.arrays["sigma"]) * (cosines - 1)).astype(np.float32)
        return table


# Ways to score a pair of vectors: the same vectors under another rule show what a method owes to its own.
RULES: Mapping[str, type[VectorScorer]] = MappingProxyType(
    {"inner product": InnerProductScorer, "cosine": CosineScorer, "euclidean": EuclideanScorer}
)


class RuleScorer:
    """The rule that a model's settings name; models from before they named one used the distance."""

    @staticmethod
    def of(arrays: Arrays, settings: Mapping[str, Any]) -> VectorScorer:
        """The scorer of that rule."""
        rule = settings.get("rule", "euclidean")
        if rule not in RULES:
            raise ModelError(f"The model cannot be used: there is no rule of scoring {rule!r}.")
        return RULES[rule](arrays)


class LinearScorer(PopularityScorer):
    """Log odds: b_p + Σ_d W_dp."""

    def __init__(self, arrays: Arrays) -> None:
        super().__init__(arrays)
        self.W, self.b = arrays["W"], arrays["b"]  # (d, p) (p,)

    def _score(self, known: Ragged) -> Floats:
        return segments.weighted_sum(self.W, _ones(known), known) + self.b


class MlpScorer(PopularityScorer):
    """b_p + W_p·relu(c + Σ_d H_d)."""

    def __init__(self, arrays: Arrays) -> None:
        super().__init__(arrays)
        self.H, self.c, self.b = arrays["H"], arrays["c"], arrays["b"]  # (d, h) (h,) (p,)
        self.W = Factor(arrays["W"].T)  # (h, p)

    def _score(self, known: Ragged) -> Floats:
        h = np.maximum(segments.weighted_sum(self.H, _ones(known), known) + self.c, 0)  # (i, h)
        scores: Floats = h @ self.W + self.b
        return scores


def _ones(rows: Ragged) -> Floats:
    return np.ones(len(rows.values), np.float32)
