"""The settings of a training run. The defaults are the paper's where it states them (section 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from dx2px.errors import InputError
from dx2px.model.network import InitConfig, ModelConfig
from dx2px.model.step import AdamConfig
from dx2px.model.transport import TransportConfig

Device = Literal["cpu", "cuda", "mps"]
Keep = Literal["last", "best"]


@dataclass(frozen=True)
class TrainingConfig:
    """All that decides the weights, but for the stays themselves."""

    model: ModelConfig = field(default_factory=ModelConfig)
    init: InitConfig = field(default_factory=InitConfig)
    adam: AdamConfig = field(default_factory=AdamConfig)
    transport: TransportConfig = field(default_factory=TransportConfig)
    epochs: int = 25
    batch_size: int = 300
    seed: int = 0
    patience: int | None = None  # epochs without a better validation F1@5 before learning stops
    keep: Keep = "last"  # weights of the last epoch, as in the paper, or of the best on validation

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

    def with_seed(self, seed: int) -> TrainingConfig:
        """The same settings with another seed."""
        return replace(self, seed=seed)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> TrainingConfig:
        """The settings that `to_dict` gave."""
        parts = {"model": ModelConfig, "init": InitConfig, "adam": AdamConfig, "transport": TransportConfig}
        try:
            return cls(**{k: parts[k](**v) if k in parts else v for k, v in record.items()})
        except TypeError as error:
            raise InputError("These are not the settings of a training run of this version.") from error
