"""Methods that the training loop learns, with what every method offers."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from torch import nn

from dx2px.cohort import Cohort
from dx2px.errors import InputError
from dx2px.scoring.cohort_evidence import stay_rows
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.folder import halved
from dx2px.scoring.methods import scorer_of
from dx2px.scoring.metrics import evaluate
from dx2px.scoring.segments import Floats
from dx2px.training.batches import Rows
from dx2px.training.config import Device, LoopConfig
from dx2px.training.history import Epoch
from dx2px.training.loop import SAVE_EVERY, Hooks, Outcome, Trainer, Weights, resolve_device
from dx2px.training.options import OF_TRAIN
from dx2px.training.processes import ALONE, Processes
from dx2px.training.recommender import Recommender, Say, silent
from dx2px.training.stays import HeldStays, TrainingStays

VALIDATION_AT = 5  # validation is measured by F1@5


class LearnedModel(Recommender):
    """A network that the training loop learns.

    With a checkpoint file a run can be stopped and resumed to the same weights; hooks report its progress. `resume`
    without such a file starts from the beginning, so that the same call serves a first run and its repetition. With
    `half`, the learned weights are rounded to half precision, and everything measured holds for the rounded weights.
    """

    options: ClassVar[frozenset[str]] = OF_TRAIN

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
        self.asked = self.config = config  # after `fit`, `config` has what the stays decided
        self.hooks, self.half = hooks, half
        self.save_every, self.processes = save_every, processes
        self.checkpoint, self.resume, self.device = checkpoint, resume, device
        self.method: str = config.method
        self.outcome: Outcome | None = None
        self.layout: EvidenceLayout | None = None

    def fit(
        self, cohort: Cohort, training: Rows, validation: Rows, *, seed: int = 0, say: Say = silent
    ) -> Self:
        """Learn from the training rows; F1@5 on the validation rows is recorded, and chooses the epoch if asked to."""
        return self.fit_stays(HeldStays(cohort, training), cohort.subset(validation), seed=seed)

    def fit_stays(self, stays: TrainingStays, held_out: Cohort, *, seed: int = 0) -> Self:
        """`fit`, from stays that may be too many for memory."""
        trainer = Trainer(
            stays,
            None,
            self.asked.with_seed(seed),
            validate=lambda network: self._validation_f1(network, held_out),
            device=resolve_device(self.device),
            checkpoint=self.checkpoint,
            save_every=self.save_every,
            processes=self.processes,
            initial=self._initial(stays),
        )
        if self.resume and not self._starts_afresh:
            trainer.resume()
        elif self.processes.restarts:
            trainer.take_up()
        self.config, self.vocabularies, self.layout = trainer.config, stays.vocabularies, trainer.layout
        self.outcome = trainer.run(self.hooks)
        return self

    def _initial(self, stays: TrainingStays) -> Weights | None:
        """The weights to start from; None to draw them."""
        return None

    @property
    def _starts_afresh(self) -> bool:
        return self.checkpoint is not None and not Path(self.checkpoint).exists()

    @property
    def history(self) -> list[Epoch]:
        """The measures of each epoch."""
        return self._learned.history

    def initial_settings(self, seed: int) -> dict[str, Any]:
        """The training settings, those that follow the number of stays as None."""
        return self.asked.with_seed(seed).to_dict()

    def settings_for(self, stays: int, seed: int) -> dict[str, Any]:
        """The settings of a run on this number of training stays."""
        return self.asked.for_stays(stays).with_seed(seed).to_dict()

    def settings(self) -> dict[str, Any]:
        """The training settings, and which weights were kept."""
        best = self.config.keep == "best" or self.config.patience is not None
        found = self.config.to_dict() | {"kept": "best" if best else "last"}
        return found if self.layout is None else found | {"evidence": self.layout.to_dict()}

    def arrays(self) -> dict[str, Floats]:
        """The network's weights, as a model folder keeps them."""
        arrays = self._singles(self._learned.weights)
        return halved(arrays) if self.half else arrays

    def _validation_f1(self, network: nn.Module, stays: Cohort) -> float:
        """Mean F1@5, in per cent, of a saved model with these weights."""
        weights = {name: p.detach().cpu().numpy() for name, p in network.named_parameters()}
        scorer = scorer_of(self.method, self._singles(weights), self.settings())
        found = evaluate(scorer.scores, stay_rows(scorer, stays), stays.procedures, at=(VALIDATION_AT,))
        return found.mean("f1")[VALIDATION_AT]

    def _singles(self, weights: Weights) -> dict[str, Floats]:
        kept = self._kept(weights)
        return {name: np.ascontiguousarray(array, np.float32) for name, array in kept.items()}

    @abstractmethod
    def _kept(self, weights: Weights) -> Mapping[str, NDArray[Any]]:
        """The arrays that a model folder keeps, from the learned weights."""

    @property
    def _learned(self) -> Outcome:
        if self.outcome is None:
            raise InputError(f"The method {self.method} has learned nothing yet: call fit first.")
        return self.outcome
