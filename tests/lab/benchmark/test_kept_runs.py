"""A kept run stands for a job only where stays, split, seed and settings are the job's."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dx2px import InputError
from dx2px.lab.benchmark import BenchmarkConfig, CohortId, Job, plan
from dx2px.lab.benchmark.runs import run_job
from dx2px.lab.benchmark.settings import configured, method_with, same_settings, unsaid
from dx2px.lab.synthetic import SyntheticConfig, generate
from dx2px.scoring.methods import METHODS
from dx2px.training.run import SplitConfig, learn

STAYS = 50_000


@pytest.fixture(scope="module")
def cohort(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cohort") / "tiny.parquet"
    generate(SyntheticConfig(stays=300))[0].save(path)
    return path


@pytest.fixture(scope="module")
def kept(cohort: Path, tmp_path_factory: pytest.TempPathFactory) -> Job:
    jobs = plan(
        [cohort], BenchmarkConfig(("cooccurrence",), folds=3, run_folds=1), tmp_path_factory.mktemp("out")
    )
    run_job(jobs[0], threads=1)
    jobs[0].store.add_pending()
    return jobs[0]


def edited(kept: Job, folder: Path, edit: Callable[[dict[str, Any]], object]) -> Job:
    """The same job with an edited record, in another folder."""
    record, hits, job = copy.deepcopy(kept.result()), kept.hits(), replace(kept, folder=folder)
    assert record is not None
    assert hits is not None
    edit(record)
    job.store.leave(record, hits)
    job.store.add_pending()
    return job


def test_the_run_stands_for_its_own_job(kept: Job) -> None:
    assert kept.result() is not None


def test_another_cohort_under_the_same_name_does_not_reuse_it(kept: Job, tmp_path: Path) -> None:
    other = tmp_path / "tiny.parquet"
    generate(SyntheticConfig(stays=300), seed=1)[0].save(other)
    job = plan([other], BenchmarkConfig(("cooccurrence",), folds=3, run_folds=1), kept.folder)[0]
    assert job.place == kept.place
    assert job.key == kept.key
    assert job.kept() is not None
    assert job.result() is None


def test_the_same_stays_under_another_path_do(kept: Job, cohort: Path, tmp_path: Path) -> None:
    copy = tmp_path / "tiny.parquet"
    copy.write_bytes(cohort.read_bytes())
    assert replace(kept, cohort=CohortId.of(copy)).result() is not None


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "tiny.parquet"
    generate(SyntheticConfig(stays=100))[0].save(path)
    before = CohortId.of(path)
    generate(SyntheticConfig(stays=101))[0].save(path)
    assert CohortId.of(path).data != before.data


def test_a_cohort_that_changes_after_planning_fails_its_runs(kept: Job, tmp_path: Path) -> None:
    path = tmp_path / "tiny.parquet"
    generate(SyntheticConfig(stays=100))[0].save(path)
    job = replace(kept, cohort=replace(kept.cohort, path=str(path)), folder=tmp_path / "out")
    with pytest.raises(InputError, match="no longer the cohort"):
        run_job(job, threads=1)
    assert not job.folder.exists()


@pytest.mark.parametrize("change", [{"seed": 5}, {"split": SplitConfig(by="stay", folds=4, fold=0)}])
def test_another_seed_or_split_does_not_reuse_it(kept: Job, change: dict[str, Any]) -> None:
    assert replace(kept, **change).result() is None


@pytest.mark.parametrize(
    "edit",
    [
        lambda record: record["settings"].update(deltas=[0.1]),  # another grid
        lambda record: record.update(data="0" * 64),
    ],
)
def test_a_record_of_other_settings_or_stays_does_not_count(kept: Job, tmp_path: Path, edit: Any) -> None:
    assert edited(kept, tmp_path, edit).result() is None


def test_what_validation_chose_is_not_compared(kept: Job, tmp_path: Path) -> None:
    def choose(record: dict[str, Any]) -> None:
        assert "chosen" in record["settings"]
        record["settings"]["chosen"] = {"form": "log", "delta": 99.0}

    assert edited(kept, tmp_path, choose).result() is not None


def test_a_setting_newer_than_the_record_counts_as_its_default() -> None:
    """Else every setting added to a method would throw away all of its runs."""
    defaults: dict[str, Any] = {"dim": 200, "model": {"heads": 8, "new": 1}}
    kept = {"dim": 200, "model": {"heads": 8}, "chosen": 3}
    assert same_settings(defaults, defaults, kept)
    assert not same_settings({"dim": 200, "model": {"heads": 8, "new": 2}}, defaults, kept)
    assert not same_settings({"dim": 100, "model": {"heads": 8}}, defaults, kept)
    assert not same_settings({"dim": 200, "model": {"heads": 4}}, defaults, kept)
    assert not same_settings({"model": {"heads": 8}}, defaults, {"model": "none"})


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("dwl", "gwl", "mlp", "bpr")])
def test_what_a_method_records_holds_what_it_was_set_to(method: str) -> None:
    """The other four record their configuration in the same line of code; their runs take long."""
    cohort = generate(SyntheticConfig(stays=120))[0]
    seed = 3
    found = learn(cohort, method_with(method, {}), SplitConfig(by="stay", folds=2), seed=seed, threads=1)
    record = json.loads(json.dumps(found.recommender.settings()))
    asked = configured(method, {}, seed, len(found.rows("train")))
    assert same_settings(asked, {}, record)
    assert bool(asked) == (method != "popularity")


def test_a_swept_setting_is_part_of_what_is_asked() -> None:
    assert configured("e+sa+ma", {"dim": 20}, 0, STAYS)["model"]["dim"] == 20
    assert configured("e+sa+ma", {}, 0, STAYS)["model"]["dim"] == 200


def test_a_setting_that_changed_what_is_learned_is_told_from_runs_before_it() -> None:
    asked = configured("coupling", {}, 0, STAYS)
    before = {**asked, "model": {name: value for name, value in asked["model"].items() if name != "decay"}}
    assert asked["model"]["decay"] > 0
    assert not same_settings(asked, unsaid("coupling", 0, STAYS), before)
    without = {**asked, "model": {**asked["model"], "decay": 0.0}}
    assert same_settings(without, unsaid("coupling", 0, STAYS), before)
    perceptron = configured("mlp", {}, 0, STAYS)
    narrower = {
        name: value for name, value in perceptron.items() if name not in ("dropout", "higher", "lower")
    }
    assert not same_settings(perceptron, unsaid("mlp", 0, STAYS), narrower)


@pytest.mark.parametrize("stays", [20_386, 53_366])
def test_runs_of_many_stays_from_before_settings_followed_their_number_still_count(stays: int) -> None:
    asked = configured("coupling", {}, 0, stays)
    assert asked["batch_size"] == 300
    assert asked["model"]["dropout"] == 0.4


def test_a_run_of_few_stays_with_the_settings_of_many_does_not_count() -> None:
    few, many = (configured("coupling", {}, 0, stays) for stays in (500, 50_000))
    assert not same_settings(few, unsaid("coupling", 0, 500), many)
    assert same_settings(few, unsaid("coupling", 0, 500), few)
