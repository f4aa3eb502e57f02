"""What the baselines share that learn a vector for each code, epoch by epoch: settings, start, and the epoch kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from torch import Tensor

from dx2px.methods.baseline import Baseline, Task
from dx2px.methods.initial import InitConfig, vectors
from dx2px.methods.trials import best_epoch
from dx2px.scoring.segments import Floats
from dx2px.training.config import check_training

Epochs = Iterator[tuple[Tensor, Tensor]]  # U and V after each epoch; the same tensors, which go on changing


@dataclass(frozen=True, kw_only=True)
class VectorConfig:
    """As for the paper's own model. With `patience`, the best epoch on validation is kept; otherwise the last."""

    dim: int = 200
    lr: float = 0.001
    batch_size: int = 300
    epochs: int = 25
    patience: int | None = None
    init: InitConfig = field(default_factory=InitConfig)

    def __post_init__(self) -> None:
        sizes = {"dimension": self.dim, "epochs": self.epochs, "batch size": self.batch_size}
        check_training(sizes | {"patience": self.patience}, self.lr)


class VectorBaseline(Baseline):
    """A baseline whose settings include those of `VectorConfig`, by the names of the options of `dx2px train`."""

    options: ClassVar[frozenset[str]] = frozenset({"dim", "lr", "batch_size", "epochs", "patience", "start"})
    settings_class: ClassVar[type[VectorConfig]]

    def __init__(self, config: Any = None) -> None:
        self.config = config or self.settings_class()

    @classmethod
    def named(cls, method: str, **options: Any) -> Self:
        """With some of its options; those that are None have the defaults."""
        given = cls._given(method, options)
        if "start" in given:
            given["init"] = InitConfig(scale=given.pop("start"))
        return cls(cls.settings_class(**given))


def kept_vectors(
    config: VectorConfig, task: Task, epochs: Epochs
) -> tuple[dict[str, Floats], dict[str, int]]:
    """The vectors to keep, and which epoch they are of where validation chose it."""
    if config.patience is None:
        *_, last = epochs
        return _copied(last), {}
    best = best_epoch(map(_copied, epochs), task.f1, config.patience)
    return best.learned, {"epoch": best.number}


def _copied(learned: tuple[Tensor, Tensor]) -> dict[str, Floats]:
    return {name: array.copy() for name, array in vectors(learned).items()}
