"""An experiment as data: what it plans, how many folds, and what is wrong with a wrong one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dx2px import InputError
from dx2px.lab.benchmark.sweep import GRIDS
from dx2px.lab.experiment import load_experiment
from dx2px.scoring.methods import METHODS

ROOT = Path(__file__).parents[2]
HEAD = 'name = "x"\n[benchmark]\nmethods = ["popularity"]\n[compare]\nagainst = "popularity"\n'


def test_the_project_s_own_plans_every_method_with_ten_folds_but_where_it_says() -> None:
    experiment = load_experiment(ROOT / "experiments" / "results.toml")
    assert set(experiment.config.methods) == set(METHODS)
    counts = Counter((job.name, job.row) for job in experiment.jobs("nhds", Path("c"), Path("r")))
    fewer = {(name.split("_")[1], row): number for (name, row), number in counts.items() if number != 10}
    assert {row for _, row in counts} == {*METHODS, "dwl, by distance", "dwl, 5 epochs"}
    slow = {("large", row): 1 for row in ("dwl", "gwl", "dwl, by distance")}
    assert fewer == slow
    synthetic = Counter((job.name, job.row) for job in experiment.jobs("synthetic", Path("c"), Path("r")))
    folds = {"syn_small": 10, "syn_medium": 3, "syn_large": 3}
    assert all(number == folds[name] for (name, _), number in synthetic.items())
    assert {row for _, row in counts} | {f"{method}, tuned" for method in experiment.tuned} == {
        *experiment.rows
    }
    assert {row for name, row in synthetic if name == "syn_small"} == {*METHODS, "dwl, by distance"}
    assert {row for name, row in synthetic if name != "syn_small"} == set(METHODS) - {"dwl", "gwl"}
    for over, (small, medium) in experiment.sweep_jobs(Path("c"), Path("r")).items():
        assert tuple(small) == GRIDS[over]
        assert {len(jobs) for jobs in small.values()} == {3}
        assert set(medium) < set(small)
        assert {job.name for jobs in medium.values() for job in jobs} == {"nhds_medium"}


def test_runs_are_kept_by_group_and_those_of_sweeps_together() -> None:
    experiment = load_experiment(ROOT / "experiments" / "results.toml")
    job = experiment.jobs("nhds", Path("c"), Path("r"))[0]
    assert job.folder == Path("r/nhds")
    assert job.id == ("nhds_small", "popularity", 0, 0, "")
    assert job.cohort.path == str(Path("c/nhds_small.parquet"))
    sweeps = experiment.sweep_jobs(Path("c"), Path("r"))
    swept = sweeps["dim"][0][20][0]
    assert swept.folder == Path("r/sweeps")
    assert swept.id == ("nhds_small", "e+sa+ma", 0, 0, "dim 20")
    shared = {sweeps[over][0][value][0].place for over, value in (("dim", 200), ("alpha", 0.1), ("heads", 8))}
    assert shared == {(Path("r/sweeps"), ("nhds_small", "e+sa+ma", 0, 0, ""))}


def test_a_tuned_row_tries_first_and_then_runs_every_fold_with_what_validation_chose(
    keep: Any, tmp_path: Path
) -> None:
    file = tmp_path / "e.toml"
    file.write_text(
        HEAD.replace('"popularity"]', '"popularity", "bpr"]\nfolds = 3')
        + '[tuned]\nmethods = ["bpr"]\n[[cohort]]\nname = "a"\ngroup = "g"\ndata = "d"\npreset = "small"\n'
    )
    experiment = load_experiment(file)
    f1 = {(0.001, 0.1): 20.0, (0.003, 0.1): 30.0, (0.01, 0.1): 10.0, (0.003, 0.3): 29.0, (0.003, 0.03): 28.0}
    for found in f1.values():
        [job] = [one for one in experiment.trial_jobs("g", Path("c"), tmp_path) if one.result() is None]
        assert not [one for one in experiment.jobs("g", Path("c"), tmp_path) if one.remark]
        keep(job, validation={"top": {"5": {"f1": found}}})
    tuned = [job for job in experiment.jobs("g", Path("c"), tmp_path) if job.remark]
    assert [(job.row, job.split.fold) for job in tuned] == [("bpr, tuned", fold) for fold in range(3)]
    assert {(job.model["lr"], job.model["start"]) for job in tuned} == {(0.003, 0.1)}
    assert tuned[0].result() is not None  # the trial that won
    kept = {job.id for job in experiment.trial_jobs("g", Path("c"), tmp_path)} | {tuned[0].id}
    assert kept == tuned[0].store.records().keys()

    file.write_text(file.read_text() + 'run_folds = { "*" = 2, "bpr, tuned" = 0 }\n')
    fewer = load_experiment(file)
    assert not fewer.trial_jobs("g", Path("c"), tmp_path)
    rows = [(job.row, job.split.fold) for job in fewer.jobs("g", Path("c"), tmp_path)]
    assert rows == [(method, fold) for fold in range(2) for method in ("popularity", "bpr")]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name = ", "not a TOML file"),
        ('name = "x"\n', "not an experiment: 'benchmark'"),
        (HEAD + '[[cohort]]\nname = "a"\ngroup = "g"\ndata = "d"\n', "needs either a file or a preset"),
        (HEAD + '[[cohort]]\nname = "a"\n', "not an experiment"),
        (HEAD + 'cohort = []\n[[sweep]]\ncohort = "a"\nover = "dim"\n', "not an experiment"),
    ],
)
def test_wrong_experiments_are_said(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "e.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=sentence):
        load_experiment(file)


def test_a_sweep_over_nothing_known_is_said(tmp_path: Path) -> None:
    file = tmp_path / "e.toml"
    cohort = '[[cohort]]\nname = "a"\ngroup = "g"\ndata = "d"\npreset = "small"\n'
    file.write_text(HEAD + cohort + '[[sweep]]\ncohort = "a"\nover = "colour"\n')
    with pytest.raises(InputError, match="A sweep is over dim, alpha, heads, not 'colour'"):
        load_experiment(file)
