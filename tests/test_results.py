"""The published results: documents say what the kept runs say, no run is orphaned, and one command makes it all."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from dx2px.cohort import Cohort
from dx2px.cohort.synthetic import PRESETS, synthesize
from dx2px.evaluation.experiment import Experiment, load_experiment
from dx2px.report.blocks import blocks_of
from dx2px.training.checkpoint import fingerprint

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "experiments" / "results.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("results_script", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def experiment(script: ModuleType) -> Experiment:
    return load_experiment(script.FILE)


def test_the_documents_say_what_the_kept_runs_say(script: ModuleType, experiment: Experiment) -> None:
    """Where this fails, `make tables` renews them."""
    made = {name: text.rstrip() + "\n" for name, text in script.blocks(experiment, ROOT / "results").items()}
    for document in script.DOCUMENTS:
        kept = blocks_of((ROOT / document).read_text(encoding="utf-8"))
        assert kept
        assert kept == {name: made[name] for name in kept}
    shown = blocks_of((ROOT / "docs/results.md").read_text(encoding="utf-8"))
    assert shown.keys() == made.keys()


def test_every_kept_run_is_part_of_the_experiment(script: ModuleType, experiment: Experiment) -> None:
    """A run of other settings or stays would lie there unseen: delete it, or run it again."""
    out = ROOT / "results"
    standing = {
        job.file
        for jobs in script.plans(experiment, out).values()
        for job in jobs
        if job.result() is not None
    }
    folders = [*experiment.groups, "sweeps"]
    kept = {file for folder in folders for file in (out / folder).rglob("fold*.json")}
    assert kept == standing
    assert all(file.with_suffix(".npz").exists() for file in kept)


def test_a_synthetic_preset_is_still_the_cohort_of_its_runs(experiment: Experiment, tmp_path: Path) -> None:
    [spec] = [spec for spec in experiment.cohorts if spec.preset == "small"]
    synthesize(tmp_path / "c.parquet", PRESETS["small"])
    assert fingerprint(Cohort.load(tmp_path / "c.parquet")) == spec.data


@pytest.mark.realdata
def test_the_survey_is_still_the_cohort_of_its_runs(
    script: ModuleType, experiment: Experiment, data: Path, tmp_path: Path
) -> None:
    [spec] = [spec for spec in experiment.cohorts if spec.name == "nhds_small"]
    script.make_cohort(spec, data, tmp_path)
    assert fingerprint(Cohort.load(spec.at(tmp_path))) == spec.data


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    places = {"--experiment": "e.toml", "--out": "out", "--cohorts": "cohorts", "--data": "absent"}
    options = [word for name, place in places.items() for word in (name, str(folder / place))]
    command = [sys.executable, str(SCRIPT), *options, "--jobs", "2", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)


def test_one_command_makes_everything_and_goes_on_where_it_stopped(
    experiment: Experiment, tmp_path: Path
) -> None:
    [spec] = [spec for spec in experiment.cohorts if spec.preset == "small"]
    (tmp_path / "e.toml").write_text(
        f"""
name = "tiny"
[benchmark]
methods = ["popularity", "cooccurrence"]
folds = 2
[compare]
against = "cooccurrence"
[[cohort]]
name = "syn"
group = "synthetic"
preset = "small"
data = "{spec.data}"
run_folds = {{ cooccurrence = 1 }}
[[cohort]]
name = "survey"
group = "real"
file = "nhds.txt"
data = "{"0" * 64}"
"""
    )
    done = run(tmp_path)
    assert done.returncode == 1
    assert "survey was left out" in done.stderr
    assert "nhds.txt is absent" in done.stderr
    assert "Traceback" not in done.stderr
    out = tmp_path / "out"
    runs = sorted(file.relative_to(out / "synthetic/runs/syn") for file in out.rglob("fold*.json"))
    assert [str(file) for file in runs] == [
        "cooccurrence/fold0.json",
        "popularity/fold0.json",
        "popularity/fold1.json",
    ]
    names = {
        "results.md",
        "results.tex",
        "results.html",
        "results.png",
        "runs.parquet",
        "comparisons.md",
        "runs",
    }
    assert {path.name for path in (out / "synthetic").iterdir()} == names
    assert json.loads((out / "cohorts" / "syn.json").read_text())["stays"] == PRESETS["small"].stays
    assert (out / "cohorts" / "synthetic.png").read_bytes().startswith(b"\x89PNG")

    before = {path: path.read_bytes() for path in out.rglob("*.md")}
    again = run(tmp_path, "--tables-only")
    assert again.returncode == 0, again.stderr
    assert {path: path.read_bytes() for path in out.rglob("*.md")} == before


def test_a_cohort_of_other_stays_is_refused(
    tmp_path: Path, script: ModuleType, experiment: Experiment
) -> None:
    [spec] = [spec for spec in experiment.cohorts if spec.preset == "small"]
    synthesize(spec.at(tmp_path), PRESETS["small"], seed=1)
    with pytest.raises(script.InputError, match="does not hold the stays"):
        script.make_cohort(spec, tmp_path, tmp_path)
