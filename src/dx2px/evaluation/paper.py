"""The paper's model and its variants behind the protocol that every method offers."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from dx2px.cohort import Cohort, Ragged
from dx2px.errors import InputError
from dx2px.evaluation.metrics import Scores, evaluate
from dx2px.model.network import Network
from dx2px.training.batches import Rows
from dx2px.training.config import Device, TrainingConfig
from dx2px.training.history import Epoch
from dx2px.training.loop import Hooks, Outcome, Trainer, resolve_device
from dx2px.training.recommender import Floats, Say, silent

VALIDATION_AT = 5


class PaperModel:
    """E+Pooling, E+SA, E+MA or E+SA+MA, by `config.model.variant`.

    A checkpoint file lets a run be stopped and taken up again with the same weights; hooks tell how it goes.
    """

    def __init__(
        self,
        config: TrainingConfig,
        *,
        hooks: Hooks | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
        device: Device = "cpu",
    ) -> None:
        self.config, self.hooks = config, hooks
        self.checkpoint, self.resume, self.device = checkpoint, resume, device
        self.method: str = config.model.variant
        self.outcome: Outcome | None = None

    def fit(
        self, cohort: Cohort, training: Rows, validation: Rows, *, seed: int = 0, say: Say = silent
    ) -> Self:
        """Algorithm 1 on the training rows; F1@5 on the validation rows is watched, and chooses where asked to."""
        held_out = cohort.subset(validation)
        trainer = Trainer(
            cohort,
            training,
            self.config.with_seed(seed),
            validate=lambda network: validation_f1(network, held_out),
            device=resolve_device(self.device),
            checkpoint=self.checkpoint,
        )
        if self.resume:
            trainer.resume()
        self.config = trainer.config
        self.sizes = len(cohort.diagnosis_vocabulary), len(cohort.procedure_vocabulary)
        self.outcome = trainer.run(self.hooks)
        return self

    @cached_property
    def network(self) -> Network:
        """The model with the weights kept, on the CPU."""
        network = Network(*self.sizes, self.config.model)
        with torch.no_grad():
            for name, array in self._learned.weights.items():
                network.get_parameter(name).copy_(torch.from_numpy(array))
        return network

    @property
    def history(self) -> list[Epoch]:
        """What each epoch measured."""
        return self._learned.history

    def scores(self, diagnoses: Ragged) -> Floats:
        """v_p·f(U_D) of every stay and procedure: what eq 1 takes the sigmoid of."""
        found: Floats = network_scores(self.network)(diagnoses)
        return found

    def settings(self) -> dict[str, Any]:
        """The training settings, and which weights were kept."""
        best = self.config.keep == "best" or self.config.patience is not None
        return self.config.to_dict() | {"kept": "best" if best else "last"}

    def arrays(self) -> dict[str, Floats]:
        """U, V and the attention's weights."""
        return {
            name: np.ascontiguousarray(array, np.float32) for name, array in self._learned.weights.items()
        }

    @property
    def _learned(self) -> Outcome:
        if self.outcome is None:
            raise InputError(f"The method {self.method} has learned nothing yet: call fit first.")
        return self.outcome


def validation_f1(network: Network, stays: Cohort) -> float:
    """Mean F1@5, per cent."""
    found = evaluate(network_scores(network), stays.diagnoses, stays.procedures, at=(VALIDATION_AT,))
    return found.mean("f1")[VALIDATION_AT]


def network_scores(network: Network) -> Scores:
    """The network as a function from diagnoses to logits; sigmoids would tie where they round to 1."""

    def scores(diagnoses: Ragged) -> NDArray[Any]:
        with torch.no_grad():
            f = network.fuse(diagnoses, network.significance(diagnoses))
            found: NDArray[Any] = (f @ network.V.T).cpu().numpy()
        return found

    return scores
