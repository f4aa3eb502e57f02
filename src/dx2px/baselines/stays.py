"""The training stays as counts and 0/1 matrices, and the rule for diagnoses that they do not hold.

Axes: i stays, n diagnoses of all stays laid flat, d diagnosis codes, p procedures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse  # type: ignore[import-untyped]

from dx2px.cohort import Cohort, Ragged
from dx2px.errors import InputError
from dx2px.ragged import offsets_of
from dx2px.training.batches import Rows
from dx2px.training.recommender import Floats

Doubles = NDArray[np.float64]


def incidence(rows: Ragged, codes: int) -> sparse.csr_matrix:
    """1 where the stay has the code."""
    ones = np.ones(len(rows.values), np.float32)
    return sparse.csr_matrix((ones, rows.values, rows.offsets), shape=(len(rows), codes))  # (i, d)


@dataclass(frozen=True, eq=False)
class Counts:
    """In how many training stays codes occur, alone and together."""

    stays: int
    diagnoses: Doubles  # n_d (d,)
    procedures: Doubles  # n_p (p,)
    pairs: Doubles  # w_dp (d, p)

    @classmethod
    def of(cls, cohort: Cohort, rows: Rows) -> Counts:
        """Counts over the given stays."""
        D, P = incidences(cohort, rows)
        pairs = (D.T @ P).toarray().astype(np.float64)
        return cls(len(rows), column_sums(D), column_sums(P), pairs)

    @property
    def shares(self) -> Doubles:
        """π_p: the share of stays with each procedure."""
        return self.procedures / self.stays


def incidences(cohort: Cohort, rows: Rows) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """The stays' diagnoses and procedures as 0/1 matrices."""
    if not len(rows):
        raise InputError("There are no training stays to learn from.")
    D = incidence(cohort.diagnoses.take(rows), len(cohort.diagnosis_vocabulary))
    P = incidence(cohort.procedures.take(rows), len(cohort.procedure_vocabulary))
    return D, P  # (i, d) (i, p)


def column_sums(X: sparse.csr_matrix) -> Doubles:
    """In how many rows each column is 1."""
    return np.bincount(X.indices, minlength=X.shape[1]).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Seen:
    """What the training stays had: which diagnoses, and how often each procedure."""

    diagnoses: NDArray[np.bool_]  # (d,)
    popularity: Floats  # (p,)

    @classmethod
    def of(cls, cohort: Cohort, rows: Rows) -> Seen:
        """What the given stays had."""
        if not len(rows):
            raise InputError("There are no training stays to learn from.")
        diagnoses = cohort.diagnoses.take(rows).counts(len(cohort.diagnosis_vocabulary))
        procedures = cohort.procedures.take(rows).counts(len(cohort.procedure_vocabulary))
        return cls(diagnoses > 0, procedures.astype(np.float32))

    def scores(self, diagnoses: Ragged, score: Callable[[Ragged], Floats]) -> Floats:
        """`score` of each stay's seen diagnoses; popularity where a stay has none."""
        known = self.known(diagnoses)
        some = np.flatnonzero(known.lengths)
        if len(some) == len(known):
            return score(known) if len(known) else np.empty((0, len(self.popularity)), np.float32)
        out = np.tile(self.popularity, (len(known), 1))
        if len(some):
            out[some] = score(known.take(some))
        return out  # (i, p)

    def known(self, diagnoses: Ragged) -> Ragged:
        """The stays without the diagnoses that were never seen; rows may become empty."""
        keep = self.diagnoses[diagnoses.values]
        if keep.all():
            return diagnoses
        lengths = np.bincount(diagnoses.row_of_entry[keep], minlength=len(diagnoses))
        return Ragged(offsets_of(lengths), diagnoses.values[keep])

    def arrays(self) -> dict[str, Floats]:
        """As a model folder keeps it."""
        return {"seen": self.diagnoses.astype(np.float32), "popularity": self.popularity}


def mean_of_rows(table: Floats, rows: Ragged) -> Floats:
    """The mean of the table's rows over the codes of each stay; no stay may be empty."""
    sums: Floats = incidence(rows, len(table)) @ table
    sums /= rows.lengths[:, None].astype(np.float32)
    return sums  # (i, p)
