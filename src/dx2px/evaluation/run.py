"""One run: split a cohort, let a method learn from its training part, keep the test part apart."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dx2px.cohort import Cohort, Split, SplitBy, split_cohort
from dx2px.errors import InputError
from dx2px.evaluation.card import model_card
from dx2px.evaluation.metrics import Metrics, evaluate
from dx2px.evaluation.paper import PaperModel
from dx2px.evaluation.parts import DATA_KEY
from dx2px.model.folder import ModelFiles, write_folder
from dx2px.training.checkpoint import fingerprint
from dx2px.training.config import Device, TrainingConfig
from dx2px.training.history import history_table
from dx2px.training.loop import Hooks, set_threads
from dx2px.training.recommender import Recommender, Say, silent


@dataclass(frozen=True)
class SplitConfig:
    """How stays are parted: the paper's protocol is one of ten folds inside 80 % of the stays."""

    by: SplitBy | None = None  # by patient where the cohort knows patients, else by stay
    folds: int = 10
    fold: int = 0
    seed: int = 0
    test_share: float = 0.2

    def split(self, cohort: Cohort) -> Split:
        """The parts of the cohort."""
        return split_cohort(cohort, by=self.by, folds=self.folds, test_share=self.test_share, seed=self.seed)


@dataclass(frozen=True, eq=False)
class Trained:
    """A method that has learned, with its cohort and the cohort's split."""

    cohort: Cohort
    split: Split
    fold: int
    recommender: Recommender

    def evaluate(self, part: str = "test") -> Metrics:
        """The metrics over `test`, `validation`, `train` or `all` stays."""
        rows = {
            "test": self.split.test,
            "validation": self.split.validation(self.fold),
            "train": self.split.training(self.fold),
            "all": np.arange(len(self.cohort)),
        }
        if part not in rows:
            raise InputError(f"The parts of a cohort are {', '.join(rows)}, not {part!r}.")
        stays = self.cohort.subset(rows[part])
        return evaluate(self.recommender.scores, stays.diagnoses, stays.procedures)

    def files(self) -> ModelFiles:
        """All that a model folder holds of this run."""
        learned = self.cohort.subset(self.split.training(self.fold))
        split = {"by": self.split.by, "folds": self.split.folds, "fold": self.fold, "seed": self.split.seed}
        settings = self.recommender.settings() | {"split": split, DATA_KEY: fingerprint(self.cohort)}
        history = self.recommender.history if isinstance(self.recommender, PaperModel) else []
        return ModelFiles(
            method=self.recommender.method,
            settings=settings,
            diagnoses=self.cohort.diagnosis_vocabulary.codes,
            procedures=self.cohort.procedure_vocabulary.codes,
            arrays=self.recommender.arrays(),
            history=history_table(history),
            card=model_card(self.cohort, self.recommender, self.split, len(learned), self.evaluate("test")),
            diagnosis_counts=learned.diagnosis_counts.tolist(),
            procedure_counts=learned.procedure_counts.tolist(),
            split=self.split.to_bytes(),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model folder, all or nothing."""
        write_folder(path, self.files())


@dataclass(frozen=True)
class RunConfig:
    """A run of the paper's model: its settings and its split."""

    training: TrainingConfig = field(default_factory=TrainingConfig)
    split: SplitConfig = field(default_factory=SplitConfig)


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
    """Learn the paper's model or one of its variants. With a checkpoint file the run can be stopped and resumed."""
    config = config or RunConfig()
    model = PaperModel(config.training, hooks=hooks, checkpoint=checkpoint, resume=resume, device=device)
    return learn(cohort, model, config.split, seed=config.training.seed, threads=threads)


def learn(
    cohort: Cohort,
    method: Recommender,
    split: SplitConfig | None = None,
    *,
    seed: int = 0,
    threads: int | None = None,
    say: Say = silent,
) -> Trained:
    """Let any method learn from its part of a cohort."""
    if threads is not None:
        set_threads(threads)
    split = split or SplitConfig()
    parts = split.split(cohort)
    method.fit(cohort, parts.training(split.fold), parts.validation(split.fold), seed=seed, say=say)
    return Trained(cohort, parts, split.fold, method)


def checkpoint_path(model: str | os.PathLike[str]) -> Path:
    """Where a run that makes `model` keeps its checkpoint: beside the folder, which holds finished models only."""
    folder = Path(model)
    return folder.with_name(f"{folder.name}.checkpoint")
