"""The share of each diagnosis in a procedure, for any method.

A method with a coupling has exact shares: its score is the sum of their terms. For the others a share is how much the
score falls when the diagnosis is left out; a score that rises counts as no fall, and if no diagnosis makes the score
fall, all have the same share. A transport plan would not do here: it depends on which other procedures are explained.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dx2px.ragged import Ragged, offsets_of
from dx2px.scoring.scorer import CouplingScores, Scorer
from dx2px.scoring.segments import Doubles, even_shares

Indices = NDArray[np.int64]


def shares_of(scorer: Scorer, rows: Ragged, stay: Indices, procedure: Indices) -> Doubles:
    """For each question, that is, a stay and a procedure, the shares of the stay's diagnoses; laid flat."""
    lengths = rows.lengths[stay]
    offsets = offsets_of(lengths)
    entries = np.repeat(rows.offsets[stay] - offsets[:-1], lengths) + np.arange(
        offsets[-1]
    )  # in `rows.values`
    column = np.repeat(procedure, lengths)
    if isinstance(scorer, CouplingScores):
        x = scorer.pairs(rows)[entries, column].astype(np.float64)
        peaks = np.repeat(np.maximum.reduceat(x, offsets[:-1]), lengths)
        return even_shares(np.exp(x - peaks), offsets)
    before = scorer.scores(rows)[np.repeat(stay, lengths), column].astype(np.float64)
    after = scorer.scores(rows.copies_without())[entries, column]
    return even_shares(np.maximum(before - after, 0), offsets)
