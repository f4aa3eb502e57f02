"""Choosing settings: try combinations, keep the best one, record them all."""

from __future__ import annotations

from collections.abc import Iterable
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
