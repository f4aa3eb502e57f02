"""A model that takes more evidence, asked about diagnoses alone: each stay is its diagnoses and the background.

The background is a term of every score, besides the terms of the diagnoses. So the diagnoses' shares of a procedure
are exact, and sum to 1 less the background's share.

Axes: i stays, n diagnoses of all stays laid flat, p procedures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dx2px.ragged import Ragged
from dx2px.scoring.coupling import CouplingScorer
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.scorer import Scorer
from dx2px.scoring.segments import Arrays, Doubles, Floats


@dataclass(frozen=True, eq=False)
class WithBackground:
    """A scorer of diagnoses; it adds the background and answers about the diagnoses."""

    scorer: CouplingScorer
    evidence: EvidenceLayout

    @classmethod
    def of(cls, arrays: Arrays, settings: Mapping[str, Any]) -> Self:
        """From the arrays and settings of a model that takes more evidence than diagnoses."""
        scorer = CouplingScorer.of(arrays, settings)
        assert scorer.layout is not None
        return cls(scorer, scorer.layout)

    def scores(self, diagnoses: Ragged) -> Floats:
        return self.scorer.scores(self.evidence.rows(diagnoses))  # (i, p)

    def significance(self, diagnoses: Ragged) -> Floats:
        """Of the diagnoses; what is missing from 1 is the background's."""
        rows = self.evidence.rows(diagnoses)
        return self.scorer.significance(rows)[self._of_diagnoses(rows)]  # (n,)

    def pairs(self, diagnoses: Ragged) -> Floats:
        rows = self.evidence.rows(diagnoses)
        return self.scorer.pairs(rows)[self._of_diagnoses(rows)]  # (n, p)

    def coupling(self, diagnoses: Ragged) -> Doubles:
        rows = self.evidence.rows(diagnoses)
        return self.scorer.coupling(rows)[self._of_diagnoses(rows)]  # (n, p)

    def log_shares(self, diagnoses: Ragged) -> Doubles:
        """The logarithm of each diagnosis's share of each procedure, with the background among the terms."""
        total = (self.scores(diagnoses) - self.scorer.b).astype(np.float64)  # (i, p)
        found: Doubles = self.pairs(diagnoses) - total[diagnoses.row_of_entry]
        return found  # (n, p)

    def _of_diagnoses(self, rows: Ragged) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = rows.values < self.evidence.diagnoses
        return found


def of_diagnoses(scorer: Scorer) -> Scorer:
    """The scorer, or one that answers about diagnoses if it takes more evidence."""
    if isinstance(scorer, CouplingScorer) and scorer.layout is not None:
        return WithBackground(scorer, scorer.layout)
    return scorer
