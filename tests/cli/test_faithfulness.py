"""The command that puts explanations to the test, as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dx2px.cohort import Cohort
from dx2px.cohort.synthetic import SyntheticConfig, synthesize
from dx2px.evaluation.run import RunConfig, train
from dx2px.model.coupling import CouplingConfig
from dx2px.model.network import ModelConfig
from dx2px.training.config import CouplingTraining, TrainingConfig


def dx2px(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dx2px", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cohort with its truth and two models of one epoch."""
    folder = tmp_path_factory.mktemp("faithfulness")
    synthesize(folder / "c.parquet", SyntheticConfig(stays=400))
    cohort = Cohort.load(folder / "c.parquet")
    default = CouplingTraining(epochs=1, model=CouplingConfig(dim=8))
    paper = TrainingConfig(epochs=1, model=ModelConfig(dim=8, heads=2))
    for name, config in (("default", default), ("paper", paper)):
        train(cohort, RunConfig(config), threads=1).save(folder / name)
    return folder


def test_it_writes_the_same_files_for_a_seed(folder: Path, tmp_path: Path) -> None:
    words = [
        folder / "default",
        folder / "paper",
        folder / "c.parquet",
        "--samples",
        "30",
        "--seed",
        "5",
        "--out",
    ]
    for name in ("first", "again"):
        done = dx2px("faithfulness", *words, tmp_path / name)
        assert done.returncode == 0, done.stderr
        assert "shares" in done.stdout
    files = sorted(path.name for path in (tmp_path / "first").iterdir())
    figures = ("curves", "deletion", "plan-steps", "planted")
    assert files == sorted(
        ["faithfulness.json", "faithfulness.md", *(f"{n}{e}" for n in figures for e in (".png", ".svg"))]
    )
    for name in files:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "again" / name).read_bytes(), name
    record = json.loads((tmp_path / "first" / "faithfulness.json").read_text())
    assert record["settings"]["seed"] == 5
    assert record["cohort"]["asked"] == 30
    assert str(folder) not in json.dumps(record)


@pytest.mark.parametrize(
    ("model", "cohort", "out", "sentence"),
    [
        ("absent", "c.parquet", "out", "absent"),
        ("default", "absent.parquet", "out", "absent.parquet"),
        ("default", "c.parquet", "c.parquet", "is a file"),
    ],
)
def test_mistakes_are_one_sentence(folder: Path, model: str, cohort: str, out: str, sentence: str) -> None:
    done = dx2px("faithfulness", folder / model, folder / cohort, "--out", folder / out)
    assert done.returncode == 1
    assert sentence in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert not (folder / "out").exists()


def test_penalties_of_the_transport_are_trained_with_and_refused_elsewhere(
    folder: Path, tmp_path: Path
) -> None:
    words = ["train", folder / "c.parquet", "--out", tmp_path / "m", "--epochs", "1", "--dim", "8"]
    done = dx2px(*words, "--method", "e+sa+ma", "--diagnosis-penalty", "0", "--entropy", "0.1")
    assert done.returncode == 0, done.stderr
    transport = json.loads((tmp_path / "m" / "config.json").read_text())["settings"]["transport"]
    assert (transport["diagnosis_penalty"], transport["procedure_penalty"], transport["entropy"]) == (
        0,
        None,
        0.1,
    )
    refused = dx2px(*words[:3], tmp_path / "n", "--diagnosis-penalty", "0")
    assert refused.returncode == 1
    assert "--diagnosis-penalty means nothing to the method coupling" in refused.stderr
