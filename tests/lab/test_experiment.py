"""An experiment as data: what it plans, how many folds, and what is wrong with a wrong one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

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
    for group in ("nhds", "synthetic"):
        counts = Counter((job.name, job.method) for job in experiment.jobs(group, Path("c"), Path("r")))
        fewer = {pair: number for pair, number in counts.items() if number != 10}
        assert len(counts) == 3 * len(METHODS)
        assert {(name.split("_")[1], method) for name, method in fewer} == {
            ("large", "dwl"),
            ("large", "gwl"),
        }
    sweeps = experiment.sweep_jobs(Path("c"), Path("r"))
    assert {over: tuple(by) for over, by in sweeps.items()} == dict(GRIDS)


def test_runs_are_kept_by_group_and_those_of_sweeps_together() -> None:
    experiment = load_experiment(ROOT / "experiments" / "results.toml")
    job = experiment.jobs("nhds", Path("c"), Path("r"))[0]
    assert job.folder == Path("r/nhds")
    assert job.id == ("nhds_small", "popularity", 0, 0, "")
    assert job.cohort.path == str(Path("c/nhds_small.parquet"))
    swept = experiment.sweep_jobs(Path("c"), Path("r"))["dim"][20][0]
    assert swept.folder == Path("r/sweeps")
    assert swept.id == ("nhds_small", "e+sa+ma", 0, 0, "dim 20")


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
