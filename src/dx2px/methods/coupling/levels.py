"""How common each procedure is at a hospital: the first stage of adapting, before any vector moves.

The level b_p of a procedure is moved by δ_p, so that stays of the hospital have it as often as was coded:

    C_p = Σ_i w_i [p ∈ P_i],    E_p(δ) = Σ_i w_i |P_i| π_i(p),    e^{δ_p} = (C_p + a_p) / (e^{−δ_p} E_p(δ) + a_p)

with the stays' weights w_i of the loss (`network`) and π over procedures. a_p is how many stays the base's level is
worth: it keeps the level of a procedure that few stays could have. This is the likeliest δ under the loss and a gamma
prior of mean 1 and shape a_p on each e^{δ_p}; found by repetition, and every round makes it likelier.

Axes: i stays, p procedures.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dx2px.ragged import Ragged
from dx2px.scoring.segments import Doubles, Floats

WORTH, WORTH_OF_NEW = 3.0, 0.5  # a of a procedure that the base knows, and of one that is new
MOST_PAIRS = 20_000_000  # of stay and procedure; with more, evenly spread stays are used
_ROUNDS = 20


def worth(known: NDArray[np.bool_]) -> Doubles:
    """a of each procedure."""
    return np.where(known, WORTH, WORTH_OF_NEW)


def moved_levels(scores: Floats, procedures: Ragged, worth: Doubles, balance: float) -> Doubles:
    """δ of each procedure.

    Args:
        scores: Of the hospital's stays, (i, p).
        procedures: What was coded in them.
        worth: How many stays each level of the base is worth.
        balance: κ of the loss.
    """
    shown = procedures.lengths.astype(np.float64)
    weights = (1 + balance) / (balance + shown)  # (i,)
    coded = np.bincount(procedures.values, weights[procedures.row_of_entry], scores.shape[1])
    powers = np.exp(scores - scores.max(axis=1, keepdims=True), dtype=np.float32)
    delta = np.zeros(scores.shape[1])
    for _ in range(_ROUNDS):
        factors = np.exp(delta)
        sums = np.maximum(powers @ factors.astype(np.float32), np.finfo(np.float32).tiny)  # (i,)
        expected = (weights * shown / sums).astype(np.float32) @ powers  # (p,) e^−δ E
        delta = np.log((coded + worth) / (expected + worth))
    return delta
