"""Finding procedures that exclude each other: pairs that the training stays have together far less often than implied.

If two procedures were independent given what is known about a stay, they would be coded together in Σ_i p_i q_i of the
stays. Where that is many stays and hardly any has both, they exclude each other.

Axes: i stays, p procedures.
"""

from __future__ import annotations

import numpy as np

from dx2px.cohort import Ragged
from dx2px.scoring.alternatives import Alternatives
from dx2px.scoring.head import Head, single_sigmoid
from dx2px.scoring.metrics import BATCH
from dx2px.scoring.segments import Floats

LEAST = 20.0  # stays that should have both: with fewer, chance alone may keep two procedures apart
MOST = 0.2  # of these, the share that has both


def fit_alternatives(head: Head, eta: Floats, procedures: Ragged) -> Alternatives:
    """The pairs that exclude each other, from the pooled log odds of training stays, (i, p), and their procedures."""
    p = np.concatenate(
        [single_sigmoid(head.log_odds(eta[at : at + BATCH])) for at in range(0, len(eta), BATCH)]
    )
    # A pair is implied in no more stays than either of the two.
    some = np.flatnonzero(p.sum(axis=0, dtype=np.float64) >= LEAST)
    implied, coded = np.zeros((len(some), len(some))), np.zeros((len(some), len(some)))
    for start, block in zip(range(0, len(p), BATCH), procedures.blocks(BATCH), strict=True):
        expected = p[start : start + BATCH, some]
        is_coded = block.indicator(p.shape[1])[:, some].astype(np.float32)
        implied += expected.T @ expected
        coded += is_coded.T @ is_coded
    pairs = np.argwhere(np.triu((implied >= LEAST) & (coded <= MOST * implied), 1))
    return Alternatives(some[pairs])
