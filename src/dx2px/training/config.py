"""The settings of a training run. Each method extends them with its own, and makes its learner from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import InputError
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.training.adam import AdamConfig
from dx2px.training.step import Learner

Device = Literal["cpu", "cuda", "mps"]
Keep = Literal["last", "best"]


@dataclass(frozen=True, eq=False)
class Start:
    """What a learner may know about the stays before the first step."""

    diagnosis_counts: NDArray[np.int64]  # (d,) training stays with each diagnosis
    procedure_counts: NDArray[np.int64]  # (p,) training stays with each procedure
    categories: tuple[
        NDArray[np.int64], NDArray[np.int64]
    ]  # (d,) (p,) the number of each code's ICD category
    stays: int
    steps: int  # of the whole run
    layout: EvidenceLayout | None = None  # the rows of evidence, for a method that takes more than diagnoses
    row_counts: NDArray[np.int64] | None = None  # (layout.size,) training stays with each of these rows
    initial: Mapping[str, NDArray[Any]] | None = None  # weights to start from, for a model that is adapted

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of diagnosis and procedure codes."""
        return len(self.diagnosis_counts), len(self.procedure_counts)


@dataclass(frozen=True, kw_only=True)
class LoopConfig(ABC):
    """The settings of the loop itself. A subclass adds its method's and documents all; with the stays, they decide the
    weights."""

    epochs: int = 25
    batch_size: int | None = 300  # None where the method chooses it by the number of stays (`for_stays`)
    seed: int = 0
    patience: int | None = None
    keep: Keep = "last"
    adam: AdamConfig = field(default_factory=AdamConfig)

    def __post_init__(self) -> None:
        least_one = {"epochs": self.epochs, "batch size": self.batch_size, "patience": self.patience}
        check_training(least_one, self.adam.lr, self.seed)

    @property
    @abstractmethod
    def method(self) -> str:
        """The name of the method that is learned."""

    @property
    def takes_evidence(self) -> bool:
        """Whether the method learns from more than diagnoses."""
        return False

    @abstractmethod
    def learner(self, start: Start, device: Device = "cpu") -> Learner:
        """The network before the first step, and the step that updates it."""

    def for_stays(self, stays: int) -> Self:
        """The same settings, with those that are left to the method chosen for this number of training stays."""
        return self

    def with_seed(self, seed: int) -> Self:
        """The same settings with another seed."""
        return replace(self, seed=seed)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)


def counts(name: str, value: object) -> str | None:
    """What is wrong with a setting that is a number from 1 on; None if nothing is."""
    if not isinstance(value, Integral):
        return f"{name} must be a whole number, not {value!r}"
    return f"{name} must be at least 1, not {value}" if value < 1 else None


def check_training(least_one: Mapping[str, int | None], lr: float, seed: int = 0) -> None:
    """Refuse settings that no method can learn with; `least_one` are numbers from 1 on, None where not set."""
    problems = [problem for one in least_one.items() if one[1] is not None and (problem := counts(*one))]
    given: tuple[object, object] = (seed, lr)
    if not isinstance(given[0], Integral) or not 0 <= seed < 2**63:
        problems.append(f"seed must be a whole number from 0 to 2⁶³ − 1, not {seed!r}")
    if not isinstance(given[1], Real):
        problems.append(f"learning rate must be a number, not {lr!r}")
    elif not lr > 0:
        problems.append(f"learning rate must be positive, not {lr}")
    if problems:
        raise InputError("training settings: " + "; ".join(problems) + ".")
