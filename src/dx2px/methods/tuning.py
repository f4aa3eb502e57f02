"""Choosing learning rate, start and epochs of a method with vectors on the validation stays.

The rate goes up from the usual one as long as that helps, at the usual start. Then, at the best rate, the start goes
up, and if that does not help, down. A trial is judged by `judged`, the mean of F1@1, 3, 5 and 10 on the validation
stays; the test stays choose nothing. Within a trial the epoch with the best validation F1@5 is kept, as everywhere, and
learning stops after `PATIENCE` epochs without a better one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dx2px.errors import InputError
from dx2px.methods import learner_class
from dx2px.scoring.methods import METHODS

RATES = (0.001, 0.003, 0.01, 0.03)
STARTS, LOWER_STARTS = (0.1, 0.3, 1.0), (0.1, 0.03)  # standard deviations of the initial vectors
EPOCHS, PATIENCE = 40, 5
OPTIONS = frozenset({"lr", "start", "epochs", "patience"})


class Trial(NamedTuple):
    """One combination."""

    lr: float
    start: float

    @property
    def options(self) -> dict[str, float]:
        """As `recommender` and `dx2px train` take them."""
        return {**self._asdict(), "epochs": EPOCHS, "patience": PATIENCE}


def check_tunable(method: str) -> None:
    """Refuse a method that has not all of these settings."""
    if not _tunable(method):
        able = ", ".join(filter(_tunable, METHODS))
        raise InputError(f"The method {method} has nothing to tune; those that have: {able}.")


def _tunable(method: str) -> bool:
    return learner_class(method).options_of(method) >= OPTIONS


def judged(validation: Mapping[int, float]) -> float:
    """What a trial is judged by, from its validation F1 by L. F1@5 alone leaves F1@1 to chance, which varies most."""
    return sum(validation.values()) / len(validation)


def next_trial(known: Mapping[Trial, float]) -> Trial | None:
    """What to try after these, of which the validation F1 is known; None once the search has ended."""
    return _search(known)[1]


def best_trial(known: Mapping[Trial, float]) -> Trial:
    """Where the search stands."""
    return _search(known)[0]


def _search(known: Mapping[Trial, float]) -> tuple[Trial, Trial | None]:
    """The best trial so far, and the next one."""
    usual = Trial(RATES[0], STARTS[0])
    best, following = _walk(known, [usual._replace(lr=lr) for lr in RATES])
    for starts in (STARTS, LOWER_STARTS):
        if following is None and best.start == usual.start:
            best, following = _walk(known, [best._replace(start=start) for start in starts])
    return best, following


def _walk(known: Mapping[Trial, float], trials: Sequence[Trial]) -> tuple[Trial, Trial | None]:
    """Go on as long as a trial is better than the one before it; the last one that was, and the next if unknown."""
    best = trials[0]
    for trial in trials:
        if trial not in known:
            return best, trial
        if trial != best and known[trial] <= known[best]:
            break
        best = trial
    return best, None
