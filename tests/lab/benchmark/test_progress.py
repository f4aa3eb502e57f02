"""Time left by each method's own durations, and what the board counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dx2px.lab.benchmark import BenchmarkConfig, CohortId, Durations, Job, Progress, plan
from dx2px.lab.benchmark.progress import Board, spoken

COHORTS = (CohortId("a", "a.parquet", "data a"), CohortId("b", "b.parquet", "data b"))
METHODS = ("popularity", "linear")


Keep = Callable[..., object]


def jobs_in(out: Path) -> list[Job]:
    return plan(COHORTS, BenchmarkConfig(METHODS, folds=3), out)


def standing(jobs: list[Job], workers: int) -> Progress:
    seen: list[Progress] = []
    Board(jobs, workers, seen.append).show()
    return seen[0]


def test_each_method_brings_its_own_duration(tmp_path: Path, keep: Keep) -> None:
    jobs = jobs_in(tmp_path)
    for job in jobs:
        if job.split.fold == 0:
            keep(job, fit_seconds={"popularity": 6.0, "linear": 600.0}[job.method])
    progress = standing(jobs, 2)
    assert (progress.done, progress.total, progress.bounded) == (4, 12, True)
    assert progress.seconds_left == pytest.approx(4 * (6 + 600) / 2)  # two folds of two cohorts, two workers


def test_no_number_of_workers_is_quicker_than_the_longest_run(tmp_path: Path, keep: Keep) -> None:
    jobs = jobs_in(tmp_path)
    for job in jobs:
        if (job.name, job.split.fold) != ("b", 2):
            keep(job, fit_seconds={"popularity": 1.0, "linear": 600.0}[job.method])
    assert standing(jobs, 16).seconds_left == pytest.approx(600)


def test_a_method_that_never_ran_makes_it_a_lower_bound(tmp_path: Path, keep: Keep) -> None:
    jobs = jobs_in(tmp_path)
    keep(jobs[0], fit_seconds=120.0)  # popularity on a: also what is known for b
    progress = standing(jobs, 1)
    assert not progress.bounded
    assert progress.seconds_left == pytest.approx(5 * 120)
    assert "at least 10 min left" in progress.line


def test_nothing_known_says_nothing_and_nothing_left_neither(tmp_path: Path, keep: Keep) -> None:
    jobs = jobs_in(tmp_path)
    assert standing(jobs, 1).line == "0 of 12 runs done"
    for job in jobs:
        keep(job)
    assert standing(jobs, 1).line == "12 of 12 runs done"


def test_the_board_counts_by_cohort_and_method(tmp_path: Path, keep: Keep) -> None:
    jobs, seen = jobs_in(tmp_path), []
    keep(jobs[0])
    board = Board(jobs, 2, seen.append)
    board.start(jobs[1])
    board.start(jobs[2])
    board.end(jobs[1], failed=True)
    board.show()
    tallies = {(t.cohort, t.method): (t.total, t.done, t.failed, t.running) for t in seen[0].tallies}
    assert tallies == {
        ("a", "popularity"): (3, 1, 0, 1),
        ("a", "linear"): (3, 0, 1, 0),
        ("b", "popularity"): (3, 0, 0, 0),
        ("b", "linear"): (3, 0, 0, 0),
    }
    assert [run.name for run in seen[0].running] == ["a popularity fold 1"]
    assert "1 of 12 runs done, 1 failed" in seen[0].line
    assert seen[0].line.endswith("; running a popularity fold 1")


def test_durations_prefer_the_nearest_and_the_newest(tmp_path: Path, keep: Keep) -> None:
    jobs = jobs_in(tmp_path)
    linear = [job for job in jobs if job.method == "linear"]
    keep(linear[0], fit_seconds=100.0, cpu_seconds=90.0)
    keep(linear[1], fit_seconds=300.0)
    durations = Durations.of(jobs, "fit_seconds")
    assert durations.expected(linear[2]) == 200.0  # the median of both, on the same cohort
    assert durations.expected(linear[-1]) == 200.0  # the other cohort has none of its own
    assert durations.measured(linear[-1]) is None
    durations.add(linear[1], 20.0)
    assert durations.expected(linear[2]) == 20.0  # this session, under its present load
    assert Durations.of(jobs, "cpu_seconds").measured(linear[2]) == 90.0


def test_durations_as_people_say_them() -> None:
    assert [spoken(s) for s in (-5, 20, 89, 91, 3000, 7200)] == [
        *("0 s", "20 s", "89 s", "2 min", "50 min", "2.0 h")
    ]
