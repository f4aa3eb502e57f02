"""Methods that the training loop learns, behind the protocol that every method offers."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from torch import nn

from dx2px.cohort import Cohort, Ragged
from dx2px.errors import InputError
from dx2px.evaluation.metrics import Scores, evaluate
from dx2px.model.folder import halved
from dx2px.training.batches import Rows
from dx2px.training.config import Device, LoopConfig
from dx2px.training.history import Epoch
from dx2px.training.loop import SAVE_EVERY, Hooks, Outcome, Trainer, Weights, resolve_device
from dx2px.training.processes import ALONE, Processes
from dx2px.training.recommender import Floats, Say, silent
from dx2px.training.stays import HeldStays, TrainingStays

VALIDATION_AT = 5


class LearnedModel(ABC):
    """A network that the training loop learned.

    A checkpoint file lets a run be stopped and taken up again with the same weights; hooks tell how it goes. With
    `half`, weights are rounded to half precision once they are learned: all that is measured holds for a small file.
    """

    def __init__(
        self,
        config: LoopConfig,
        *,
        hooks: Hooks | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
        device: Device = "cpu",
        half: bool = False,
        save_every: float = SAVE_EVERY,
        processes: Processes = ALONE,
    ) -> None:
        self.config, self.hooks, self.half = config, hooks, half
        self.save_every, self.processes = save_every, processes
        self.checkpoint, self.resume, self.device = checkpoint, resume, device
        self.method: str = config.method
        self.outcome: Outcome | None = None

    def fit(
        self, cohort: Cohort, training: Rows, validation: Rows, *, seed: int = 0, say: Say = silent
    ) -> Self:
        """Learn from the training rows; F1@5 on the validation rows is watched, and chooses where asked to."""
        return self.fit_stays(HeldStays(cohort, training), cohort.subset(validation), seed=seed)

    def fit_stays(self, stays: TrainingStays, held_out: Cohort, *, seed: int = 0) -> Self:
        """`fit` from stays that may be too many to hold."""
        trainer = Trainer(
            stays,
            None,
            self.config.with_seed(seed),
            validate=lambda network: self._validation_f1(network, held_out),
            device=resolve_device(self.device),
            checkpoint=self.checkpoint,
            save_every=self.save_every,
            processes=self.processes,
        )
        if self.resume:
            trainer.resume()
        elif self.processes.restarts:
            trainer.take_up()
        self.config, self.vocabularies = trainer.config, stays.vocabularies
        self.outcome = trainer.run(self.hooks)
        return self

    @cached_property
    def network(self) -> Any:
        """The model with the weights kept, on the CPU."""
        network = self._empty()
        with torch.no_grad():
            for name, array in self.arrays().items():
                network.get_parameter(name).copy_(torch.from_numpy(array))
        return network

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of diagnosis and procedure codes."""
        return len(self.vocabularies[0]), len(self.vocabularies[1])

    @property
    def history(self) -> list[Epoch]:
        """What each epoch measured."""
        return self._learned.history

    def scores(self, diagnoses: Ragged) -> Floats:
        """The score of each procedure for each stay, (i, p)."""
        found: Floats = self._scores(self.network)(diagnoses)
        return found

    def settings(self) -> dict[str, Any]:
        """The training settings, and which weights were kept."""
        best = self.config.keep == "best" or self.config.patience is not None
        return self.config.to_dict() | {"kept": "best" if best else "last"}

    def arrays(self) -> dict[str, Floats]:
        """The network's weights."""
        arrays = self._merged(self._learned.weights)
        arrays = halved(arrays) if self.half else arrays
        return {name: np.ascontiguousarray(array, np.float32) for name, array in arrays.items()}

    def _merged(self, weights: Weights) -> Weights:
        """The arrays that a model folder keeps, from those that were learned."""
        return weights

    @abstractmethod
    def _empty(self) -> nn.Module:
        """A network of the right shape."""

    @staticmethod
    @abstractmethod
    def _scores(network: Any) -> Scores:
        """The network as a function from diagnoses to scores."""

    def _validation_f1(self, network: nn.Module, stays: Cohort) -> float:
        """Mean F1@5, per cent."""
        found = evaluate(self._scores(network), stays.diagnoses, stays.procedures, at=(VALIDATION_AT,))
        return found.mean("f1")[VALIDATION_AT]

    @property
    def _learned(self) -> Outcome:
        if self.outcome is None:
            raise InputError(f"The method {self.method} has learned nothing yet: call fit first.")
        return self.outcome
