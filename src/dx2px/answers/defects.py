"""What an audit may find, and how likely each finding is a mistake, given everything else that is coded.

The kinds of finding (`KINDS`, in this order everywhere):

    unsupported   a coded procedure that nothing else of the stay supports
    omitted       an absent procedure that everything else of the stay leads one to expect
    swap          an absent procedure that is usual, but an alternative that excludes it is coded
    companion     an absent procedure that usually goes with a coded one
    diagnosis     a coded procedure that no diagnosis of the stay explains: is a diagnosis missing?

Coders are assumed to make mistakes at rates that the user states:

    wrong      at this rate, a stay carries one procedure that is not its own, drawn with shares w
    omitted    at this rate, each code of a stay is left out, or a procedure is coded as one of its k alternatives

With P the calibrated probability of a procedure given the rest of the stay, a = P / (1 − P) its odds, and b the odds of
the coded alternative, Bayes' rule gives the strength of a finding:

    unsupported            wrong · w / (wrong · w + a)
    omitted, companion     omitted · a / (omitted · a + 1)
    swap                   omitted · a / (omitted · a + k · b)
    diagnosis              omitted · h · w / (omitted · h · w + wrong · w + a)

For the last, P is the most that any single diagnosis of the stay explains (`dx2px.answers.suggesting`). If none
explains the procedure, it may also be wrong; and of the diagnoses left out, we count on the share h to explain it.

All are probabilities, so findings of all kinds are on one scale: of the findings with a strength of at least
`precision`, at least this share are mistakes, as far as the stated rates and the calibration hold.

A wrong procedure is one from another stay, as frequent as in the training data, or, one time in four, any at all.
Compared with P alone this finds many more wrong codes from other stays; see docs/audit.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import InputError

Doubles = NDArray[np.float64]
Kind = Literal["unsupported", "omitted", "swap", "companion", "diagnosis"]

KINDS: tuple[Kind, ...] = get_args(Kind)
ABSENT: tuple[Kind, ...] = ("omitted", "swap", "companion")  # those whose procedure is not coded
# Of swaps there are many, since coders often have a choice: they are found if asked for.
USUAL_KINDS: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind != "swap")
ANY = 0.25  # share of wrong procedures that may be any
# h: on validation stays of the NHDS, 81 % of procedures have a diagnosis that explains them. Half leaves a margin for
# procedures that stays have without one.
EXPLAINING = 0.5
EXTRA = 5  # stays added to the count of each procedure, so that none is impossible


@dataclass(frozen=True)
class AuditSettings:
    """How strong a finding must be, how often coders are assumed to err, and which kinds are wanted.

    Attributes:
        precision: The least strength of a finding. At least this share of the findings should be mistakes.
        wrong: The share of stays assumed to carry a procedure that is not theirs.
        omitted: The share of codes assumed to be left out.
        kinds: The kinds of finding to report; all but `swap` by default.

    Raises:
        InputError: A number does not lie between 0 and 1, exclusive; or there is no such kind.
    """

    precision: float = 0.1
    wrong: float = 0.05
    omitted: float = 0.05
    kinds: tuple[Kind, ...] = USUAL_KINDS

    def __post_init__(self) -> None:
        for name in ("precision", "wrong", "omitted"):
            value = getattr(self, name)
            if not 0 < value < 1:
                raise InputError(f"The setting {name} must lie between 0 and 1, exclusive; it is {value:g}.")
        object.__setattr__(self, "kinds", checked_kinds(self.kinds))


def checked_kinds(names: Sequence[str]) -> tuple[Kind, ...]:
    """The kinds of these names, each once, in their usual order."""
    if strange := [name for name in names if name not in KINDS]:
        raise InputError(f"There is no kind of finding {strange[0]!r}; choose from {', '.join(KINDS)}.")
    if not names:
        raise InputError(f"At least one kind of finding is needed; choose from {', '.join(KINDS)}.")
    return tuple(kind for kind in KINDS if kind in names)


def wrong_shares(counts: Sequence[int] | None, size: int) -> Doubles:
    """w of each procedure, from the number of training stays with it; all equal where the model does not say."""
    if counts is None:
        return np.full(size, 1 / size)
    frequent = np.asarray(counts, np.float64) + EXTRA
    shares: Doubles = ANY / size + (1 - ANY) * frequent / frequent.sum()
    return shares  # (p,)


def unsupported_strength(probability: Doubles, shares: Doubles, wrong: float) -> Doubles:
    """The probability that a coded procedure is wrong; `shares` are the w of the same procedures."""
    return _posterior(wrong * shares * (1 - probability), probability)


def omitted_strength(probability: Doubles, omitted: float) -> Doubles:
    """The probability that a procedure that is not coded was left out."""
    return _posterior(omitted * probability, 1 - probability)


def swap_strength(
    probability: Doubles, coded: Doubles, alternatives: NDArray[np.int64], omitted: float
) -> Doubles:
    """The probability that a procedure was coded as one of its `alternatives`.

    Both probabilities, its own and that of the one that is `coded`, follow from the rest of the stay.
    """
    return _posterior(omitted * probability * (1 - coded), alternatives * coded * (1 - probability))


def diagnosis_strength(probability: Doubles, shares: Doubles, omitted: float, wrong: float) -> Doubles:
    """The probability that a diagnosis which explains a coded procedure was left out.

    `probability` is the most that one diagnosis of the stay explains; `shares` are the w of the same procedures.
    """
    unexplained = shares * (1 - probability)
    return _posterior(omitted * EXPLAINING * unexplained, wrong * unexplained + probability)


def _posterior(mistaken: Doubles, correct: Doubles) -> Doubles:
    """Bayes' rule for two cases; 0 where neither can be."""
    total = mistaken + correct
    strength: Doubles = np.divide(mistaken, total, out=np.zeros_like(total), where=total > 0)
    return strength
