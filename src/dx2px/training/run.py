"""One run: split a cohort, train a method on its training part, and keep the test part for measuring."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dx2px.cohort import Cohort, CohortStream, Split, SplitBy, split_cohort
from dx2px.cohort.fingerprint import fingerprint
from dx2px.errors import InputError, ModelError
from dx2px.scoring.calibration import Calibration
from dx2px.scoring.cohort_evidence import stay_rows, told_facts
from dx2px.scoring.evidence import Evidence, layout_of
from dx2px.scoring.folder import ModelFiles, read_folder, write_folder
from dx2px.scoring.measured import DATA_KEY, measured_record
from dx2px.scoring.metrics import Metrics, evaluate
from dx2px.scoring.reliability import Reliability, reliability
from dx2px.scoring.scorer import Scorer
from dx2px.scoring.subgroups import publishable, subgroups
from dx2px.training.batches import Rows
from dx2px.training.calibrating import calibrated
from dx2px.training.card import model_card
from dx2px.training.history import history_table
from dx2px.training.loop import set_threads
from dx2px.training.recommender import Recommender, Say, silent
from dx2px.training.stays import HeldStays, TrainingStays


@dataclass(frozen=True)
class SplitConfig:
    """How stays are split. By default as in the paper: 80 % of the stays in ten folds, one of which validates.

    Attributes:
        by: Keep all stays of a `patient` together, or divide by `stay`. By default by patient if the cohort has
            patient ids, else by stay.
        folds: Number of folds outside the test part.
        fold: The fold that validates.
        seed: Fixes the shuffle.
        test_share: Share of the stays in the test part; 0 for none.
    """

    by: SplitBy | None = None
    folds: int = 10
    fold: int = 0
    seed: int = 0
    test_share: float = 0.2

    def split(self, cohort: Cohort) -> Split:
        """The part of each stay.

        Args:
            cohort: The cohort to divide.

        Raises:
            CohortError: The cohort cannot be divided like this; see `split_cohort`.
        """
        return split_cohort(cohort, by=self.by, folds=self.folds, test_share=self.test_share, seed=self.seed)


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained method with the cohort it learned from and that cohort's split.

    Attributes:
        cohort: The cohort.
        split: Which part each stay belongs to.
        fold: The fold that validated.
        recommender: The trained method.
        notes: A text for the model card.
    """

    cohort: Cohort | CohortStream
    split: Split
    fold: int
    recommender: Recommender
    notes: str = ""

    def evaluate(self, part: str = "test", evidence: Evidence = "stay") -> Metrics:
        """Recall, precision and F1 of the first 1, 3, 5 and 10 recommended procedures.

        Args:
            part: `test`, `validation`, `train` or `all`.
            evidence: `stay` to answer from all that the cohort says about a stay, `codes` from its diagnoses alone.

        Returns:
            The hits of each stay; `mean` and `to_dict` give the means in per cent.

        Raises:
            InputError: There is no such part, or it has no stays.
        """
        stays = self.stays(part)
        return evaluate(self.scorer.scores, stay_rows(self.scorer, stays, evidence), stays.procedures)

    @cached_property
    def scorer(self) -> Scorer:
        """The scorer that a saved model of this run has."""
        return self.recommender.scorer()

    def stays(self, part: str) -> Cohort:
        """The stays of one part.

        Args:
            part: `test`, `validation`, `train` or `all`.

        Raises:
            InputError: There is no such part.
        """
        return self.cohort.subset(self.rows(part))

    def rows(self, part: str) -> Rows:
        """The row numbers of one part."""
        rows: dict[str, Callable[[], Rows]] = {
            "test": lambda: self.split.test,
            "validation": lambda: self.split.validation(self.fold),
            "train": lambda: self.split.training(self.fold),
            "all": lambda: np.arange(len(self.cohort)),
        }
        if part not in rows:
            raise InputError(f"The parts of a cohort are {', '.join(rows)}, not {part!r}.")
        return rows[part]()

    @cached_property
    def lessons(self) -> TrainingStays:
        """The stays that were learned from."""
        assert isinstance(self.cohort, Cohort)
        return HeldStays(self.cohort, self.rows("train"))

    @property
    def data(self) -> str:
        """The fingerprint of the cohort."""
        assert isinstance(self.cohort, Cohort)
        return fingerprint(self.cohort)

    @property
    def split_settings(self) -> dict[str, Any]:
        """How the cohort was split, as a model folder keeps it."""
        return {"by": self.split.by, "folds": self.split.folds, "fold": self.fold, "seed": self.split.seed}

    @cached_property
    def calibration(self) -> Calibration:
        """From scores to probabilities; see `dx2px.training.calibrating`."""
        return calibrated(self.recommender, self.scorer, self.stays("train"), self.stays("validation"))

    def reliability(self, part: str = "test") -> Reliability:
        """How well the calibrated probabilities agree with what was coded.

        Args:
            part: `test`, `validation`, `train` or `all`. The calibration was fitted on the validation stays, so only
                the test stays give an honest answer.

        Raises:
            InputError: There is no such part.
        """
        stays = self.stays(part)
        rows = stay_rows(self.scorer, stays)
        return reliability(self.calibration, self.scorer.scores, rows, stays.procedures)

    @property
    def settings(self) -> dict[str, Any]:
        """How the method was learned, and from what, as a model folder keeps it."""
        return self.recommender.settings() | {"split": self.split_settings, DATA_KEY: self.data}

    def is_saved_in(self, path: str | os.PathLike[str]) -> bool:
        """Whether a folder holds this model already.

        Args:
            path: A folder, or where one may be.

        Returns:
            True if it holds a model of the same method, settings, stays and weights; False for any other folder.
        """
        try:
            held = read_folder(path)
        except (ModelError, OSError):
            return False
        mine = self.recommender.arrays()
        return (
            (held.method, held.settings) == (self.recommender.method, json.loads(json.dumps(self.settings)))
            and held.arrays.keys() == mine.keys()
            and all(np.array_equal(array, mine[name]) for name, array in held.arrays.items())
        )

    def answering(self) -> ModelFiles:
        """What a model answers from, without the test results and the card."""
        diagnoses, procedures = self.recommender.stays_behind(*self.lessons.counts)
        return ModelFiles(
            method=self.recommender.method,
            settings=self.settings,
            diagnoses=self.cohort.diagnosis_vocabulary.codes,
            procedures=self.cohort.procedure_vocabulary.codes,
            arrays=self.recommender.arrays(),
            history=history_table(self.recommender.history),
            card="",
            diagnosis_counts=publishable(diagnoses),
            procedure_counts=publishable(procedures),
            split=self.split.to_bytes(),
            calibration=self.calibration,
        )

    def files(self) -> ModelFiles:
        """Everything that a model folder keeps of this run."""
        test, facts = self.evaluate("test"), told_facts(self.scorer, self.stays("test"))
        codes = self.evaluate("test", "codes") if facts else None
        measured = measured_record(test, self.reliability("test"), codes)
        card = model_card(
            self.cohort,
            self.recommender,
            self.split,
            len(self.lessons),
            measured,
            subgroups(test, self.stays("test")),
            self.notes,
            None if layout_of(self.scorer) is None else facts,
        )
        return replace(self.answering(), card=card, measured=measured)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model folder, all or nothing.

        Args:
            path: The folder to write.

        Raises:
            InputError: The test part has no stays, so there is nothing to measure.
            ModelError: The folder cannot be written, or it holds other files.
        """
        write_folder(path, self.files(), half=self.recommender.half)


def learn(
    cohort: Cohort,
    method: Recommender,
    split: SplitConfig | None = None,
    *,
    seed: int = 0,
    threads: int | None = None,
    say: Say = silent,
) -> Trained:
    """Train any method on its part of a cohort."""
    if threads is not None:
        set_threads(threads)
    split = split or SplitConfig()
    parts = split.split(cohort)
    method.fit(cohort, parts.training(split.fold), parts.validation(split.fold), seed=seed, say=say)
    return Trained(cohort, parts, split.fold, method)


def checkpoint_path(model: str | os.PathLike[str]) -> Path:
    """Where a run keeps its checkpoint: beside the model folder, which holds finished models only."""
    folder = Path(model)
    return folder.with_name(f"{folder.name}.checkpoint")
