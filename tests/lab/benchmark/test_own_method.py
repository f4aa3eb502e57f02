"""A method that is declared outside the package is benchmarked like the others, in processes that know only the job."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

from dx2px import Cohort, Method, declare
from dx2px.lab.benchmark import BenchmarkConfig, Job, plan, rows_of, run_all
from dx2px.lab.synthetic import SyntheticConfig, generate
from dx2px.scoring.baselines import PopularityScorer
from dx2px.scoring.methods import METHODS
from dx2px.scoring.segments import Floats
from dx2px.training.recommender import Recommender, Say, silent


class Rarest(Recommender):
    """Ranks the procedures that fewest stays have first: worse than anything else, so it cannot be mistaken."""

    method = "rarest"

    def fit(
        self, cohort: Cohort, training: Any, validation: Any, *, seed: int = 0, say: Say = silent
    ) -> Self:
        counts = cohort.procedures.take(training).counts(len(cohort.procedure_vocabulary))
        self.kept = {
            "seen": np.ones(len(cohort.diagnosis_vocabulary), np.float32),
            "popularity": -counts.astype(np.float32),
        }
        return self

    def initial_settings(self, seed: int) -> dict[str, Any]:
        return {"reversed": True}

    def settings(self) -> dict[str, Any]:
        return {"reversed": True, "process": os.getpid()}

    def arrays(self) -> dict[str, Floats]:
        return self.kept


class Forgetful(Rarest):
    """Does not report the settings that it started with."""

    method = "forgetful"

    def settings(self) -> dict[str, Any]:
        return {"reversed": False}


ARRAYS = {"seen": ("diagnosis",), "popularity": ("procedure",)}


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[list[Job]]:
    for learner in (Rarest, Forgetful):
        declare(Method(learner.method, ARRAYS, PopularityScorer, "leave-one-out", learner))
    generate(SyntheticConfig(stays=300))[0].save(tmp_path / "tiny.parquet")
    config = BenchmarkConfig(("popularity", "rarest", "forgetful"), folds=3, run_folds=1)
    yield plan([tmp_path / "tiny.parquet"], config, tmp_path / "out")
    for learner in (Rarest, Forgetful):
        del METHODS[learner.method]


def test_it_is_learned_in_a_process_of_its_own_and_stands_in_the_table(jobs: list[Job]) -> None:
    [failure] = run_all(jobs, 2, lambda progress: None)
    assert failure.job.method == "forgetful"
    assert "not those that it started with" in failure.reason
    popular, rare = rows_of(jobs)
    assert (popular.method, rare.method) == ("popularity", "rarest")
    assert rare.cells["1", "f1"].mean < popular.cells["1", "f1"].mean
    kept = jobs[1].result()
    assert kept is not None
    assert kept["settings"]["process"] != os.getpid()
