"""The settings of a training run, and the learner each makes: the paper's model or the default one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from dx2px.errors import InputError
from dx2px.model.adam import AdamConfig, FlatAdam
from dx2px.model.batch import Batch
from dx2px.model.coupling import CouplingConfig, CouplingNetwork
from dx2px.model.coupling_step import CouplingStepper, OneCycle
from dx2px.model.network import InitConfig, ModelConfig, Network
from dx2px.model.step import Stepper, StepResult
from dx2px.model.transport import TransportConfig

Device = Literal["cpu", "cuda", "mps"]
Keep = Literal["last", "best"]


class Learner(Protocol):
    """A network and the step that moves it."""

    optimiser: FlatAdam

    @property
    def network(self) -> nn.Module: ...

    def gradient(self, batch: Batch) -> StepResult: ...

    def update(self) -> None: ...


@dataclass(frozen=True, eq=False)
class Start:
    """What a learner may know of the stays before it begins."""

    diagnosis_counts: NDArray[np.int64]  # training stays with each diagnosis
    categories: tuple[NDArray[np.int64], NDArray[np.int64]]  # of each diagnosis and each procedure, numbered
    procedure_counts: NDArray[np.int64]
    stays: int
    steps: int  # of the whole run

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of diagnosis and procedure codes."""
        return len(self.diagnosis_counts), len(self.procedure_counts)


@dataclass(frozen=True, kw_only=True)
class LoopConfig(ABC):
    """What the loop itself must know. A subclass adds the rest of what decides the weights, but for the stays."""

    epochs: int = 25
    batch_size: int = 300
    seed: int = 0
    patience: int | None = None  # epochs without a better validation F1@5 before learning stops
    keep: Keep = "last"  # weights of the last epoch or of the best on validation
    adam: AdamConfig = field(default_factory=AdamConfig)

    def __post_init__(self) -> None:
        limits = {"epochs": self.epochs, "batch size": self.batch_size}
        if self.patience is not None:
            limits["patience"] = self.patience
        problems = [f"{name} must be at least 1, not {value}" for name, value in limits.items() if value < 1]
        if not 0 <= self.seed < 2**63:
            problems.append(f"seed must be a whole number from 0 to 2⁶³ − 1, not {self.seed}")
        if not self.adam.lr > 0:
            problems.append(f"learning rate must be positive, not {self.adam.lr}")
        if problems:
            raise InputError("training settings: " + "; ".join(problems) + ".")

    @property
    @abstractmethod
    def method(self) -> str:
        """The name of the method that is learned."""

    @property
    @abstractmethod
    def alpha(self) -> float:
        """The weight of the transport loss in the total."""

    @abstractmethod
    def learner(self, start: Start, device: Device = "cpu") -> Learner:
        """The network before the first step, with its stepper."""

    def with_seed(self, seed: int) -> Self:
        """The same settings with another seed."""
        return replace(self, seed=seed)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """The settings that `to_dict` gave."""
        parts = cls._parts()
        try:
            return cls(**{k: parts[k](**v) if k in parts else v for k, v in record.items()})
        except TypeError as error:
            raise InputError("These are not the settings of a training run of this version.") from error

    @staticmethod
    @abstractmethod
    def _parts() -> dict[str, Any]:
        """The settings that are dataclasses themselves."""


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(LoopConfig):
    """The paper's model and its variants. The defaults are the paper's where it states them (section 5.1)."""

    model: ModelConfig = field(default_factory=ModelConfig)
    init: InitConfig = field(default_factory=InitConfig)
    transport: TransportConfig = field(default_factory=TransportConfig)

    @property
    def method(self) -> str:
        return self.model.variant

    @property
    def alpha(self) -> float:
        return self.model.alpha

    @staticmethod
    def _parts() -> dict[str, Any]:
        return {"model": ModelConfig, "init": InitConfig, "adam": AdamConfig, "transport": TransportConfig}

    def learner(self, start: Start, device: Device = "cpu") -> Learner:
        generator = torch.Generator().manual_seed(self.seed)
        network = Network(*start.sizes, self.model).init(generator, self.init)
        return Stepper(network.to(device), self.transport, self.adam)


@dataclass(frozen=True, kw_only=True)
class CouplingTraining(LoopConfig):
    """The default model; docs/method.md has the study behind its defaults."""

    epochs: int = 12
    adam: AdamConfig = field(default_factory=lambda: AdamConfig(lr=0.004))
    model: CouplingConfig = field(default_factory=CouplingConfig)

    @property
    def method(self) -> str:
        return "coupling"

    @property
    def alpha(self) -> float:
        return 0.0

    @staticmethod
    def _parts() -> dict[str, Any]:
        return {"model": CouplingConfig, "adam": AdamConfig}

    def learner(self, start: Start, device: Device = "cpu") -> Learner:
        generator = torch.Generator().manual_seed(self.seed)
        shares = start.procedure_counts / max(start.stays, 1)
        network = CouplingNetwork(*start.sizes, self.model, start.categories)
        network.init(generator, start.diagnosis_counts, shares)
        return CouplingStepper(network.to(device), self.adam, OneCycle(start.steps), self.seed)
