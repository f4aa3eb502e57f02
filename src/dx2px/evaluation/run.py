"""One run: split a cohort, learn on its training part, watch the validation part, keep the test part apart."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dx2px.cohort import Cohort, Ragged, Split, SplitBy, split_cohort
from dx2px.errors import InputError
from dx2px.evaluation.card import model_card
from dx2px.evaluation.metrics import Metrics, Scores, evaluate
from dx2px.evaluation.parts import DATA_KEY
from dx2px.model import ragged
from dx2px.model.folder import ModelFiles, write_folder
from dx2px.model.network import Network
from dx2px.training.checkpoint import fingerprint
from dx2px.training.config import Device, TrainingConfig
from dx2px.training.history import history_table
from dx2px.training.loop import Hooks, Outcome, Trainer, resolve_device, set_threads

VALIDATION_AT = 5
SHARED_FOLDS = 10


@dataclass(frozen=True)
class RunConfig:
    """What a run learns from and how: the paper's protocol is one of ten folds inside 80 % of the stays."""

    training: TrainingConfig = field(default_factory=TrainingConfig)
    split_by: SplitBy | None = None  # by patient where the cohort knows patients, else by stay
    folds: int = SHARED_FOLDS
    fold: int = 0
    split_seed: int = 0
    test_share: float = 0.2

    def split(self, cohort: Cohort) -> Split:
        """The parts of the cohort."""
        return split_cohort(
            cohort, by=self.split_by, folds=self.folds, test_share=self.test_share, seed=self.split_seed
        )


@dataclass(frozen=True, eq=False)
class Trained:
    """A learned model with the cohort's vocabularies, its split and what it measured."""

    cohort: Cohort
    config: RunConfig
    split: Split
    outcome: Outcome

    @cached_property
    def network(self) -> Network:
        """The model with its kept weights, on the CPU."""
        sizes = len(self.cohort.diagnosis_vocabulary), len(self.cohort.procedure_vocabulary)
        network = Network(*sizes, self.config.training.model)
        with torch.no_grad():
            for name, array in self.outcome.weights.items():
                network.get_parameter(name).copy_(torch.from_numpy(array))
        return network

    def scores(self, diagnoses: Ragged) -> NDArray[np.float32]:
        """v_p·f(U_D) of every stay and procedure: what eq 1 takes the sigmoid of."""
        return network_scores(self.network)(diagnoses)

    def evaluate(self, part: str = "test") -> Metrics:
        """The metrics over `test`, `validation`, `train` or `all` stays."""
        rows = {
            "test": self.split.test,
            "validation": self.split.validation(self.config.fold),
            "train": self.split.training(self.config.fold),
            "all": np.arange(len(self.cohort)),
        }
        if part not in rows:
            raise InputError(f"The parts of a cohort are {', '.join(rows)}, not {part!r}.")
        stays = self.cohort.subset(rows[part])
        return evaluate(self.scores, stays.diagnoses, stays.procedures)

    def files(self) -> ModelFiles:
        """All that a model folder holds of this run."""
        learned = self.cohort.subset(self.split.training(self.config.fold))
        settings = self.config.training.to_dict() | {
            "split": {
                "by": self.split.by,
                "folds": self.config.folds,
                "fold": self.config.fold,
                "seed": self.split.seed,
            },
            DATA_KEY: fingerprint(self.cohort),
            "kept": "best" if self._kept_best else "last",
        }
        test = self.evaluate("test")
        return ModelFiles(
            method=self.config.training.model.variant,
            settings=settings,
            diagnoses=self.cohort.diagnosis_vocabulary.codes,
            procedures=self.cohort.procedure_vocabulary.codes,
            arrays={name: np.ascontiguousarray(a, np.float32) for name, a in self.outcome.weights.items()},
            history=history_table(self.outcome.history),
            card=model_card(self.cohort, self.config.training, self.split, len(learned), test),
            diagnosis_counts=learned.diagnosis_counts.tolist(),
            procedure_counts=learned.procedure_counts.tolist(),
            split=self.split.to_bytes(),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model folder, all or nothing."""
        write_folder(path, self.files())

    @property
    def _kept_best(self) -> bool:
        return self.config.training.keep == "best" or self.config.training.patience is not None


def train(
    cohort: Cohort,
    config: RunConfig | None = None,
    *,
    hooks: Hooks | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    device: Device = "cpu",
    threads: int | None = None,
) -> Trained:
    """Learn a model. With a checkpoint file the run can be stopped and taken up again, with the same weights."""
    config = config or RunConfig()
    if threads is not None:
        set_threads(threads)
    split = config.split(cohort)
    held_out = cohort.subset(split.validation(config.fold))
    trainer = Trainer(
        cohort,
        split.training(config.fold),
        config.training,
        validate=lambda network: validation_f1(network, held_out),
        device=resolve_device(device),
        checkpoint=checkpoint,
    )
    if resume:
        trainer.resume()
    return Trained(cohort, config, split, trainer.run(hooks))


def validation_f1(network: Network, stays: Cohort) -> float:
    """Mean F1@5, per cent."""
    found = evaluate(network_scores(network), stays.diagnoses, stays.procedures, at=(VALIDATION_AT,))
    return found.mean("f1")[VALIDATION_AT]


def network_scores(network: Network) -> Scores:
    """The network as a function from diagnoses to logits; sigmoids would tie where they round to 1."""

    def scores(diagnoses: Ragged) -> NDArray[Any]:
        rows = ragged.Ragged(diagnoses.offsets, diagnoses.values)
        with torch.no_grad():
            f = network.fuse(rows, network.significance(rows))
            found: NDArray[Any] = (f @ network.V.T).cpu().numpy()
        return found

    return scores


def checkpoint_path(model: str | os.PathLike[str]) -> Path:
    """Where a run that makes `model` keeps its checkpoint: beside the folder, which holds finished models only."""
    folder = Path(model)
    return folder.with_name(f"{folder.name}.checkpoint")
