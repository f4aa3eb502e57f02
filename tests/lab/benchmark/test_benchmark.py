"""The benchmark: cached runs, failures that cost only themselves, intervals, paired comparisons, recipes."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from dx2px import InputError
from dx2px.lab.benchmark import (
    BenchmarkConfig,
    CohortId,
    Job,
    Progress,
    compare,
    plan,
    rows_of,
    run_all,
)
from dx2px.lab.benchmark.markdown import latex, markdown
from dx2px.lab.benchmark.page import page
from dx2px.lab.benchmark.runs import _blas_threads
from dx2px.lab.benchmark.tables import Cell, _cell
from dx2px.lab.recipe import load_recipe
from dx2px.lab.synthetic import SyntheticConfig, generate

ROOT = Path(__file__).parents[3]
METHODS = ("popularity", "cooccurrence")


@pytest.fixture(scope="module")
def cohort(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cohort") / "tiny.parquet"
    generate(SyntheticConfig(stays=600))[0].save(path)
    return path


@pytest.fixture(scope="module")
def finished(cohort: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Job]:
    jobs = plan([cohort], BenchmarkConfig(METHODS, folds=4, run_folds=2), tmp_path_factory.mktemp("out"))
    assert run_all(jobs, 2, lambda progress: None) == []
    return jobs


def test_every_run_is_kept_and_not_run_again(finished: list[Job]) -> None:
    seen: list[Progress] = []
    file = finished[0].store.runs_file
    before = file.stat().st_mtime_ns
    assert run_all(finished, 2, seen.append) == []
    assert [(p.done, p.total) for p in seen] == [(4, 4)]
    assert file.stat().st_mtime_ns == before


def test_the_table_has_the_runs_numbers(finished: list[Job]) -> None:
    rows = {row.method: row for row in rows_of(finished)}
    results = [job.result() for job in finished if job.method == "cooccurrence"]
    one, other = (result["test"]["top"]["5"]["f1"] for result in results if result)
    cell = rows["cooccurrence"].cells["5", "f1"]
    assert cell.mean == pytest.approx((one + other) / 2)
    assert cell.half_width == pytest.approx(
        6.3138 * abs(one - other) / 2, rel=1e-4
    )  # t of one degree of freedom
    assert rows["cooccurrence"].folds == 2
    runs = pq.read_table(finished[0].store.runs_file).to_pydict()
    assert runs["f1@5"][:2] == [one, other]
    assert runs["method"] == ["cooccurrence"] * 2 + ["popularity"] * 2
    assert runs["fold"] == [0, 1, 0, 1]


def test_all_layouts_carry_the_same_numbers(finished: list[Job]) -> None:
    rows = rows_of(finished)
    published = {(rows[0].cohort, "popularity"): tuple(float(n) for n in range(12))}
    shown = f"{rows[1].cells['3', 'f1'].mean:.1f}"
    comparisons = compare(finished, "cooccurrence")
    for text in (markdown(rows, published), latex(rows, published), page(rows, comparisons, published)):
        assert shown in text
        assert "11.0" in text
    assert "**" in markdown(rows)


def test_a_failed_run_is_shown_and_the_others_go_on(cohort: Path, tmp_path: Path) -> None:
    jobs = plan([cohort], BenchmarkConfig(("popularity",), folds=3), tmp_path)
    lost = replace(jobs[0], cohort=replace(jobs[0].cohort, path=str(tmp_path / "gone.parquet")))
    [failure] = run_all([lost, *jobs[1:]], 1, lambda progress: None)
    assert failure.job == lost
    assert "There is no cohort file" in failure.reason
    assert all(job.result() is not None for job in jobs[1:])
    assert run_all(jobs, 1, lambda progress: None) == []
    assert {path.name for path in tmp_path.iterdir()} == {"runs.parquet", "hits.parquet"}


def test_a_killed_run_is_shown_as_such(cohort: Path, tmp_path: Path) -> None:
    jobs = plan([cohort], BenchmarkConfig(("popularity",), folds=2, run_folds=1), tmp_path)

    def kill(progress: Progress) -> None:
        for process in multiprocessing.active_children():
            process.kill()

    [failure] = run_all(jobs, 1, kill)
    assert failure.job == jobs[0]
    assert "ended by signal 9" in failure.reason


def test_a_run_s_process_is_told_its_share_of_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "5")
    with _blas_threads(3):
        assert os.environ["OPENBLAS_NUM_THREADS"] == "3"
        assert os.environ["MKL_NUM_THREADS"] == "5", "what the user said stands"
    assert "OPENBLAS_NUM_THREADS" not in os.environ
    assert os.environ["MKL_NUM_THREADS"] == "5"


def test_time_and_memory_are_in_the_table_of_runs(finished: list[Job]) -> None:
    runs = pq.read_table(finished[0].store.runs_file).to_pydict()
    results = [finished[0].store.records()[job.id] for job in sorted(finished, key=lambda job: job.id)]
    assert runs["cpu_seconds"] == [result["cpu_seconds"] for result in results]
    assert runs["peak_mb"] == [result["peak_mb"] for result in results]
    assert all(0 < mb < 8192 for mb in runs["peak_mb"])


def test_processor_time_is_the_median_of_the_runs_that_measured_it(
    tmp_path: Path, keep: Callable[..., object]
) -> None:
    """Older runs did not measure it: they count for the metrics, and not for the time."""
    known = CohortId("tiny", "tiny.parquet", "data")
    jobs = plan([known], BenchmarkConfig(METHODS, folds=4, run_folds=2), tmp_path)
    for job in jobs:
        keep(job, **({"cpu_seconds": 7.0} if (job.method, job.split.fold) == ("cooccurrence", 1) else {}))
    rows = {row.method: row for row in rows_of(jobs)}
    assert (rows["popularity"].cpu_seconds, rows["cooccurrence"].cpu_seconds) == (None, 7.0)
    kept = pq.read_table(jobs[0].store.runs_file)
    assert kept["cpu_seconds"].to_pylist().count(None) == 3
    assert "| – |" in markdown(list(rows.values()))
    assert "| 7.0 |" in markdown(list(rows.values()))


def test_intervals_are_student_s() -> None:
    assert _cell([1.0]) == Cell(1.0, None)
    assert _cell([1.0, 3.0]).half_width == pytest.approx(6.3138, rel=1e-4)  # s = √2, n = 2
    ten = _cell([float(n) for n in range(10)])
    assert ten.half_width == pytest.approx(1.8331 * np.std(range(10), ddof=1) / 10**0.5, rel=1e-4)
    many = _cell([float(n) for n in range(21)])
    assert many.half_width == pytest.approx(1.7247 * np.std(range(21), ddof=1) / 21**0.5, rel=1e-4)


@pytest.mark.parametrize("size", ["small", "medium", "large"])
def test_the_paper_s_recipes_load(size: str) -> None:
    recipe = load_recipe(ROOT / "experiments" / f"luo2019_{size}.toml")
    assert set(recipe.published) == set(recipe.config.methods) - {"popularity"}
    assert recipe.config.folds == 10
    for numbers in recipe.published.values():
        for start in range(0, 12, 3):
            recall, precision, f1 = numbers[start : start + 3]
            # A mean of F1 lies below the F1 of the means; the table obeys, up to rounding and one slip of 0.1.
            assert f1 <= 2 * recall * precision / (recall + precision) + 0.6


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"methods": ("nonsense",)}, "There is no method 'nonsense'"),
        ({"methods": ("linear",), "model": {"dim": 3}}, "linear has no setting dim"),
        ({"methods": ("e+sa",), "model": {"heads": -1}}, "heads must be at least 1, not -1"),
        ({"methods": ("e+ma",), "model": {"alpha": float("nan")}}, "at least 0 and finite, not nan"),
        ({"folds": 3, "run_folds": 4}, "Of 3 folds, 1 to 3 can be run, not 4"),
    ],
)
def test_wrong_settings_are_said(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        BenchmarkConfig(**settings)


def test_wrong_recipes_are_said(tmp_path: Path) -> None:
    file = tmp_path / "r.toml"
    for text, sentence in (
        ("name = ", "not a TOML file"),
        ("[benchmark]\nfolds = 3\n", "not a recipe"),
        ('name = "x"\n[benchmark]\ncolour = 3\n', "not a recipe"),
        ('name = "x"\n[published]\nbpr = [1.0]\n', "must be a list of 12"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=sentence):
            load_recipe(file)
    with pytest.raises(InputError, match="There is no recipe"):
        load_recipe(tmp_path / "absent.toml")


def test_two_cohorts_of_one_name_are_refused(cohort: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="same name"):
        plan([cohort, tmp_path / "tiny.parquet"], BenchmarkConfig(METHODS), tmp_path)
