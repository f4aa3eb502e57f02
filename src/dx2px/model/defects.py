"""How likely a coded procedure is a mistake, and an absent one an omission, given a stay's diagnoses.

Coders are taken to make two kinds of mistake, at rates that the user states:

    wrong      a stay carries, with this rate, one procedure that is not its own, drawn with shares w
    omitted    each procedure of a stay is left out with this rate

With P the calibrated probability of a procedure given the diagnoses, Bayes' rule gives the strength of a finding:

    coded   strength = wrong · w (1 − P) / (P + wrong · w (1 − P))      the diagnoses support it little
    absent  strength = omitted · P / (omitted · P + 1 − P)              the diagnoses lead one to expect it

Both are probabilities, so findings of both kinds stand on one scale, and of findings with strengths of at least
`precision` at least this share are mistakes, as far as the stated rates and the calibration hold.

A wrong procedure is one of another stay, as frequent as in the training data, or, one time in four, any at all.
Compared with P alone this finds many more wrong codes of other stays (at one finding per 100 stays of the NHDS 55 %
instead of 32 %) and a few less of those drawn at random (59 % instead of 63 %); see docs/audit.md.
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
    """How sure a finding must be, and how often coders are taken to err."""

    precision: float = 0.1
    wrong: float = 0.05  # of stays
    omitted: float = 0.05  # of procedures

    def __post_init__(self) -> None:
        for name in ("precision", "wrong", "omitted"):
            value = getattr(self, name)
            if not 0 < value < 1:
                raise InputError(
                    f"The setting {name} must lie between 0 and 1, both excluded, not be {value:g}."
                )


def wrong_shares(counts: Sequence[int] | None, size: int) -> Doubles:
    """w of each procedure, from the training stays with each; all alike where the model does not say."""
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
    """The probability that a procedure which is not coded was left out."""
    forgotten = omitted * probability
    strength: Doubles = forgotten / (forgotten + 1 - probability)
    return strength
