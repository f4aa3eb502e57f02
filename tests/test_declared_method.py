"""A method is one declaration: a toy one, declared in this file alone, trains, is measured, recommends, is compared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
from typer.testing import CliRunner

from dx2px import Cohort, InputError, Method, declare
from dx2px.cli.app import app
from dx2px.ragged import Ragged
from dx2px.scoring.methods import METHODS
from dx2px.scoring.segments import Arrays, Floats
from dx2px.training.recommender import Recommender, Say, silent

PAIRS = {"icd9cm:5856": "icd9pcs:3995", "icd9cm:4275": "icd9pcs:9960", "icd9cm:5409": "icd9pcs:4701"}


class PairScorer:
    """The number of training stays in which a procedure went with any of the diagnoses."""

    def __init__(self, arrays: Arrays) -> None:
        self.together = arrays["together"]  # (d, p)

    @classmethod
    def of(cls, arrays: Arrays, settings: Mapping[str, Any]) -> Self:
        return cls(arrays)

    def scores(self, diagnoses: Ragged) -> Floats:
        return diagnoses.indicator(len(self.together)).astype(np.float32) @ self.together

    def significance(self, diagnoses: Ragged) -> Floats:
        return np.repeat(1 / diagnoses.lengths, diagnoses.lengths).astype(np.float32)


class Pairs(Recommender):
    """Counts."""

    method = "pairs"

    def fit(
        self, cohort: Cohort, training: Any, validation: Any, *, seed: int = 0, say: Say = silent
    ) -> Self:
        D = cohort.diagnoses.take(training).indicator(len(cohort.diagnosis_vocabulary))
        P = cohort.procedures.take(training).indicator(len(cohort.procedure_vocabulary))
        self.together = D.T.astype(np.float32) @ P
        return self

    def initial_settings(self, seed: int) -> dict[str, Any]:
        return {"counted": True}

    def settings(self) -> dict[str, Any]:
        return {"counted": True}

    def arrays(self) -> dict[str, Floats]:
        return {"together": self.together}


TOY = Method("pairs", {"together": ("diagnosis", "procedure")}, PairScorer, "leave-one-out", Pairs)


@pytest.fixture(autouse=True)
def toy() -> Iterator[None]:
    declare(TOY)
    yield
    del METHODS["pairs"]


@pytest.fixture
def cohort(tmp_path: Path) -> Path:
    """Each stay has one cause, whose procedure follows, and a diagnosis that says nothing."""
    rng = np.random.default_rng(0)
    causes = rng.choice(list(PAIRS), 300).tolist()
    path = tmp_path / "planted.parquet"
    Cohort.from_lists([[c, "icd9cm:4019"] for c in causes], [[PAIRS[c]] for c in causes]).save(path)
    return path


def ask(*words: object) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_it_goes_all_the_way(cohort: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    ask("train", cohort, "--out", model, "--method", "pairs")
    assert json.loads(ask("evaluate", model, cohort, "--json"))["top"]["1"]["f1"] == 100
    found = json.loads(ask("recommend", "--model", model, "585.6", "401.9", "--top", "1", "--json"))
    first = found["recommendations"][0]
    assert first["code"] == "icd9pcs:3995"
    assert first["because"][0] == {
        "code": "icd9cm:5856",
        "share": 0.5,
    }  # it and the bystander go with it alike
    table = ask(
        "benchmark",
        cohort,
        "--methods",
        "popularity,pairs",
        "--run-folds",
        "1",
        "--out",
        tmp_path / "results",
    )
    assert " pairs " in table


def test_a_name_is_declared_once_and_an_unknown_one_lists_the_others(cohort: Path, tmp_path: Path) -> None:
    declare(TOY)  # the same again is no contradiction
    with pytest.raises(InputError, match="There is a method 'pairs' already"):
        declare(Method("pairs", {}, PairScorer, "leave-one-out", Pairs))
    done = CliRunner().invoke(app, ["train", str(cohort), "--out", str(tmp_path / "m"), "--method", "paris"])
    assert done.exit_code == 2
    assert "pairs" in done.output
