"""Choosing on validation: combinations of settings, of which all are recorded, and the epoch to keep."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from dx2px.training.recommender import Say

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Trial(Generic[T]):
    """One combination of settings, its validation F1, and what was learned with it."""

    settings: dict[str, Any]
    f1: float
    learned: T

    def record(self) -> dict[str, Any]:
        """As a model's settings keep it."""
        return self.settings | {"validation_f1": round(self.f1, 4)}


@dataclass(frozen=True, eq=False)
class Choice(Generic[T]):
    """The best trial, the first of equals, and the records of all."""

    best: Trial[T]
    tried: list[dict[str, Any]]


@dataclass(frozen=True, eq=False)
class KeptEpoch(Generic[T]):
    """What was learned after an epoch, counted from 1, and its validation F1."""

    number: int
    f1: float
    learned: T


def best_epoch(epochs: Iterable[T], f1: Callable[[T], float], patience: int) -> KeptEpoch[T]:
    """The best epoch, the first of equals; learning stops after `patience` epochs without a better one."""
    best: KeptEpoch[T] | None = None
    for number, learned in enumerate(epochs, start=1):
        found = f1(learned)
        if best is None or found > best.f1:
            best = KeptEpoch(number, found, learned)
        elif number - best.number >= patience:
            break
    assert best is not None, "there is at least one epoch"
    return best


def choose(trials: Iterable[Trial[T]], say: Say) -> Choice[T]:
    """Go through the trials, keeping only the best one in memory."""
    best: Trial[T] | None = None
    tried = []
    for trial in trials:
        tried.append(trial.record())
        say(", ".join(f"{name} {value}" for name, value in trial.record().items()))
        if best is None or trial.f1 > best.f1:
            best = trial
    assert best is not None, "a grid holds at least one combination"
    return Choice(best, tried)
