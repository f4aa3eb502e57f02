"""Scores of the methods that the paper's model is compared with, from their saved arrays, with numpy alone.

Every one of them keeps `seen` (1 for each diagnosis that some training stay had) and `popularity` (training stays with
each procedure): diagnoses never seen are left out, and a stay of nothing else is given the popularity.

Axes: i stays, n diagnoses of all stays laid flat, d diagnosis codes, p procedures, h hidden units, m dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dx2px.inference import segments
from dx2px.inference.segments import Floats, check_codes
from dx2px.inference.transport import cosine_costs
from dx2px.model.folder import ModelFiles
from dx2px.ragged import Ragged, offsets_of

Arrays = Mapping[str, NDArray[np.float32]]
Pairs = Callable[[Floats, Floats], Floats]


class PopularityScorer:
    """s_p = n_p, and the rule for unseen diagnoses that the other methods share."""

    def __init__(self, arrays: Arrays) -> None:
        self.seen = arrays["seen"] > 0  # (d,)
        self.popularity = arrays["popularity"]  # (p,)

    def scores(self, diagnoses: Ragged) -> Floats:
        """The score of each procedure for each stay, (i, p); a stay may be empty."""
        known = self._known(diagnoses)
        out = np.tile(self.popularity, (len(known), 1))
        some = np.flatnonzero(known.lengths)
        if len(some) == len(known) > 0:
            return self._score(known)
        if len(some):
            out[some] = self._score(known.take(some))
        return out

    def significance(self, diagnoses: Ragged) -> Floats:
        """The same weight for each seen diagnosis of a stay; for all where none was seen."""
        check_codes(diagnoses, len(self.seen))
        counted = self.seen[diagnoses.values].astype(np.float32)  # (n,)
        owner, lengths = diagnoses.row_of_entry, diagnoses.lengths
        seen = np.bincount(owner, counted, len(diagnoses))  # (i,)
        weights = np.where(seen[owner] > 0, counted / np.maximum(seen, 1)[owner], 1 / lengths[owner])
        return weights.astype(np.float32)  # (n,)

    def _score(self, known: Ragged) -> Floats:
        """Of stays with seen diagnoses only, at least one."""
        return np.tile(self.popularity, (len(known), 1))

    def _known(self, diagnoses: Ragged) -> Ragged:
        check_codes(diagnoses, len(self.seen))
        keep = self.seen[diagnoses.values]
        if keep.all():
            return diagnoses
        lengths = np.bincount(diagnoses.row_of_entry[keep], minlength=len(diagnoses))
        return Ragged(offsets_of(lengths), diagnoses.values[keep])


class TableScorer(PopularityScorer):
    """The mean, over a stay's diagnoses, of the rows of a table."""

    def __init__(self, arrays: Arrays) -> None:
        super().__init__(arrays)
        self.arrays = arrays

    @cached_property
    def table(self) -> Floats:
        """A number for each pair of codes."""
        return self.arrays["T"]  # (d, p)

    def _score(self, known: Ragged) -> Floats:
        return segments.weighted_sum(self.table, segments.uniform(known), known)


class VectorScorer(TableScorer):
    """A table that follows from the codes' vectors."""

    def __init__(self, arrays: Arrays, pairs: Pairs) -> None:
        super().__init__(arrays)
        self.pairs = pairs

    @cached_property
    def table(self) -> Floats:
        """A number for each pair of vectors."""
        return self.pairs(self.arrays["U"], self.arrays["V"]).astype(np.float32)  # (d, p)


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
        self.W = segments.Factor(arrays["W"].T)  # (h, p)

    def _score(self, known: Ragged) -> Floats:
        h = np.maximum(segments.weighted_sum(self.H, _ones(known), known) + self.c, 0)  # (i, h)
        scores: Floats = h @ self.W + self.b
        return scores


def inner_products(U: Floats, V: Floats) -> Floats:
    """u_d·v_p."""
    products: Floats = U @ segments.Factor(V.T)
    return products


def nearness(U: Floats, V: Floats) -> Floats:
    """−‖u_d − v_p‖; squares in double precision, since they nearly cancel for near vectors."""
    U2, V2 = U.astype(np.float64), V.astype(np.float64)
    squares = (U2**2).sum(1)[:, None] + (V2**2).sum(1) - 2 * U2 @ V2.T
    table: Floats = -np.sqrt(np.maximum(squares, 0)).astype(np.float32)
    return table


def cosine_nearness(sigma: float) -> Pairs:
    """−κ(u_d, v_p), κ = 1 − exp(−σ (1 − cos))."""

    def pairs(U: Floats, V: Floats) -> Floats:
        table: Floats = np.expm1(-sigma * cosine_costs(U, V)).astype(np.float32)
        return table

    return pairs


def _ones(rows: Ragged) -> Floats:
    return np.ones(len(rows.values), np.float32)


BASELINE_SCORERS: Mapping[str, Callable[[Arrays], PopularityScorer]] = {
    "popularity": PopularityScorer,
    "cooccurrence": TableScorer,
    "word2vec": lambda arrays: VectorScorer(arrays, inner_products),
    "bpr": lambda arrays: VectorScorer(arrays, inner_products),
    "dwl": lambda arrays: VectorScorer(arrays, nearness),
    "gwl": lambda arrays: VectorScorer(arrays, cosine_nearness(float(arrays["sigma"]))),
    "linear": LinearScorer,
    "mlp": MlpScorer,
}


def baseline_scorer(files: ModelFiles) -> PopularityScorer:
    """The scorer of a saved model of one of these methods."""
    return BASELINE_SCORERS[files.method](files.arrays)
