"""The command that tests explanations, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dx2px.cohort import Cohort
from dx2px.lab.faithfulness import StudyConfig, Subject, study
from dx2px.lab.synthetic import SyntheticConfig, synthesize
from dx2px.methods.coupling import CouplingConfig, CouplingTraining
from dx2px.methods.paper import PaperConfig, PaperTraining
from dx2px.methods.train import RunConfig, train
from dx2px.scoring.folder import read_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cohort with its truth and two models of one epoch."""
    folder = tmp_path_factory.mktemp("faithfulness")
    synthesize(
        folder / "c.parquet", SyntheticConfig(stays=300, diagnoses=60, procedures=20, diagnoses_per_stay=6.0)
    )
    cohort = Cohort.load(folder / "c.parquet")
    default = CouplingTraining(epochs=1, model=CouplingConfig(dim=8))
    paper = PaperTraining(epochs=1, model=PaperConfig(dim=8, heads=2))
    for name, config in (("default", default), ("paper", paper)):
        train(cohort, RunConfig(config), threads=1).save(folder / name)
    return folder


@pytest.mark.filterwarnings("ignore::dx2px.methods.paper.transport.ConvergenceWarning")
def test_it_writes_what_the_study_of_that_seed_measures(ask, folder: Path, tmp_path: Path) -> None:
    words = [folder / "default", folder / "paper", folder / "c.parquet", "--samples", "20", "--seed", "5"]
    done = ask("faithfulness", *words, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "shares" in done.stdout
    assert done.stderr.count("stopped before they converged") == 1
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    figures = ("curves", "deletion", "plan-steps", "planted")
    assert files == sorted(
        ["faithfulness.json", "faithfulness.md", *(f"{n}{e}" for n in figures for e in (".png", ".svg"))]
    )
    record = json.loads((tmp_path / "out" / "faithfulness.json").read_text())
    subjects = [Subject(name, read_folder(folder / name)) for name in ("default", "paper")]
    assert record == json.loads(json.dumps(study(subjects, folder / "c.parquet", StudyConfig(20, 5))))
    assert record["cohort"]["asked"] == 20
    assert str(folder) not in json.dumps(record)


def test_a_model_of_the_package_goes_by_its_name(ask, folder: Path, tmp_path: Path) -> None:
    words = ["nhds2010", folder / "c.parquet", "--samples", "5", "--out", tmp_path / "out"]
    done = ask("faithfulness", *words)
    assert done.returncode == 0, done.stderr
    assert list(json.loads((tmp_path / "out" / "faithfulness.json").read_text())["models"]) == ["nhds2010"]


@pytest.mark.parametrize(
    ("model", "cohort", "out", "sentence"),
    [
        ("absent", "c.parquet", "out", "absent"),
        ("default", "absent.parquet", "out", "absent.parquet"),
        ("default", "c.parquet", "c.parquet", "is a file"),
    ],
)
def test_mistakes_are_one_sentence(
    ask, folder: Path, model: str, cohort: str, out: str, sentence: str
) -> None:
    done = ask("faithfulness", folder / model, folder / cohort, "--out", folder / out)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "out").exists()


def test_penalties_of_the_transport_are_trained_with_and_refused_elsewhere(
    ask, folder: Path, tmp_path: Path
) -> None:
    words = ["train", folder / "c.parquet", "--out", tmp_path / "m", "--epochs", "1", "--dim", "8"]
    done = ask(*words, "--method", "e+sa+ma", "--diagnosis-penalty", "0", "--entropy", "0.1")
    assert done.returncode == 0, done.stderr
    transport = json.loads((tmp_path / "m" / "config.json").read_text())["settings"]["transport"]
    found = tuple(transport[name] for name in ("diagnosis_penalty", "procedure_penalty", "entropy"))
    assert found == (0, None, 0.1)
    refused = ask(*words[:3], tmp_path / "n", "--diagnosis-penalty", "0")
    assert refused.returncode == 1
    assert "--diagnosis-penalty" in refused.stderr
