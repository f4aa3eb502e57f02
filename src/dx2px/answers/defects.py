"""How likely a coded procedure is a mistake, and an absent one an omission, given a stay's diagnoses.

Coders are assumed to make two kinds of mistake, at rates that the user states:

    wrong      at this rate, a stay carries one procedure that is not its own, drawn with shares w
    omitted    at this rate, each procedure of a stay is left out

With P the calibrated probability of a procedure given the diagnoses, Bayes' rule gives the strength of a finding:

    coded      unsupported   strength = wrong · w (1 − P) / (P + wrong · w (1 − P))
    not coded  missing       strength = omitted · P / (omitted · P + 1 − P)

Both are probabilities, so findings of both kinds are on one scale: of the findings with a strength of at least
`precision`, at least this share are mistakes, as far as the stated rates and the calibration hold.

A wrong procedure is one from another stay, as frequent as in the training data, or, one time in four, any at all.
Compared with P alone this finds many more wrong codes from other stays (at one finding per 100 stays of the NHDS 55 %
instead of 32 %) and slightly fewer of those drawn at random (59 % instead of 63 %); see docs/audit.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import InputError

Doubles = NDArray[np.float64]

ANY = 0.25  # share of wrong procedures that may be any
EXTRA = 5  # stays added to the count of each procedure, so that none is impossible


@dataclass(frozen=True)
class AuditSettings:
    """How strong a finding must be, and how often coders are assumed to err.

    Attributes:
        precision: The least strength of a finding. At least this share of the findings should be mistakes.
        wrong: The share of stays assumed to carry a procedure that is not theirs.
        omitted: The share of procedures assumed to be left out.

    Raises:
        InputError: A setting does not lie between 0 and 1, exclusive.
    """

    precision: float = 0.1
    wrong: float = 0.05
    omitted: float = 0.05

    def __post_init__(self) -> None:
        for name in ("precision", "wrong", "omitted"):
            value = getattr(self, name)
            if not 0 < value < 1:
                raise InputError(f"The setting {name} must lie between 0 and 1, exclusive; it is {value:g}.")


def wrong_shares(counts: Sequence[int] | None, size: int) -> Doubles:
    """w of each procedure, from the number of training stays with it; all equal where the model does not say."""
    if counts is None:
        return np.full(size, 1 / size)
    frequent = np.asarray(counts, np.float64) + EXTRA
    shares: Doubles = ANY / size + (1 - ANY) * frequent / frequent.sum()
    return shares  # (p,)


def unsupported_strength(probability: Doubles, shares: Doubles, wrong: float) -> Doubles:
    """The probability that a coded procedure is wrong; `shares` are the w of the same procedures."""
    mistaken = wrong * shares * (1 - probability)
    strength: Doubles = mistaken / (probability + mistaken)
    return strength


def missing_strength(probability: Doubles, omitted: float) -> Doubles:
    """The probability that a procedure that is not coded was left out."""
    forgotten = omitted * probability
    strength: Doubles = forgotten / (forgotten + 1 - probability)
    return strength
