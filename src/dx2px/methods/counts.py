"""The training stays as counts and 0/1 matrices.

Axes: i stays, n diagnoses of all stays laid flat, d diagnosis codes, p procedures.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse  # type: ignore[import-untyped]

from dx2px.cohort import Cohort, Ragged
from dx2px.scoring.segments import Doubles
from dx2px.training.batches import Rows


def incidence(rows: Ragged, codes: int) -> sparse.csr_matrix:
    """1 where the stay has the code."""
    ones = np.ones(len(rows.values), np.float32)
    return sparse.csr_matrix((ones, rows.values, rows.offsets), shape=(len(rows), codes))  # (i, d)


@dataclass(frozen=True, eq=False)
class Counts:
    """How many training stays have each code, and each pair of codes."""

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
    D = incidence(cohort.diagnoses.take(rows), len(cohort.diagnosis_vocabulary))
    P = incidence(cohort.procedures.take(rows), len(cohort.procedure_vocabulary))
    return D, P  # (i, d) (i, p)


def column_sums(X: sparse.csr_matrix) -> Doubles:
    """In how many rows each column has a 1."""
    return np.bincount(X.indices, minlength=X.shape[1]).astype(np.float64)
