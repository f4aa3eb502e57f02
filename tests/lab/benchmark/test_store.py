"""The store of runs: nothing that ended is lost, no run gets another's hits, one writer at a time, read once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dx2px import InputError
from dx2px.lab.benchmark import BenchmarkConfig, CohortId, Job, RunStore, plan, run_all, store
from dx2px.lab.benchmark.sweep import SweepConfig, plan_sweep
from dx2px.scoring.metrics import AT, Metrics

COHORT = CohortId("tiny", "tiny.parquet", "data")
Keep = Callable[..., dict[str, Any]]


def jobs_in(out: Path) -> list[Job]:
    return plan([COHORT], BenchmarkConfig(("popularity", "cooccurrence"), folds=3), out)


def some_hits(stays: int, seed: int) -> Metrics:
    rng = np.random.default_rng(seed)
    recommended = np.minimum(np.tile(AT, (stays, 1)), 8)
    return Metrics(AT, rng.integers(0, recommended + 1), recommended, rng.integers(1, 256, stays))


def same(one: Metrics | None, other: Metrics) -> bool:
    return one is not None and all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("hits", "recommended", "recorded")
    )


def test_records_and_hits_come_back_as_they_were(tmp_path: Path, keep: Keep) -> None:
    jobs = jobs_in(tmp_path)
    records = [keep(job, note="é ± κ", fit_seconds=0.1 + 0.2) for job in jobs]
    hits = [some_hits(stays, stays) for stays in range(1, len(jobs) + 1)]
    for job, record, found in zip(jobs, records, hits, strict=True):
        job.store.leave(record, found)
    jobs[0].store.add_pending()
    for job, record, found in zip(jobs, records, hits, strict=True):
        assert job.result() == record
        assert same(job.hits(), found)


def test_the_order_in_which_runs_end_does_not_matter(tmp_path: Path, keep: Keep) -> None:
    contents = []
    for name, order in (("a", 1), ("b", -1)):
        jobs = jobs_in(tmp_path / name)
        for job in jobs[::order]:
            keep(job)
        contents.append([file.read_bytes() for file in (jobs[0].store.runs_file, jobs[0].store.hits_file)])
    assert contents[0] == contents[1]


def test_a_row_can_be_read_without_the_package(tmp_path: Path, keep: Keep) -> None:
    record = keep(jobs_in(tmp_path)[0])
    [run] = pq.read_table(tmp_path / "runs.parquet").to_pylist()
    [hits] = pq.read_table(tmp_path / "hits.parquet").to_pylist()
    assert json.loads(run["record"]) == record
    assert run["f1@1"] == record["test"]["top"]["1"]["f1"]
    assert run["run"] == hits["run"]
    assert list(hits["hits"]) == [1, 0, 0] * len(AT)


@pytest.mark.parametrize("written", [0, 1])
def test_a_writer_that_dies_between_two_files_loses_nothing(
    tmp_path: Path, keep: Keep, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    first, second = jobs_in(tmp_path)[:2]
    keep(first)
    before = first.hits()
    assert before is not None
    calls = []

    def dying(table: pa.Table, file: Path, **options: Any) -> None:
        if len(calls) == written:
            raise KeyboardInterrupt
        calls.append(file)
        write(table, file, **options)

    write = store._write
    monkeypatch.setattr(store, "_write", dying)
    with pytest.raises(KeyboardInterrupt):
        keep(second)
    assert second.result() is None
    assert same(first.hits(), before)
    monkeypatch.setattr(store, "_write", write)
    with second.store.writing():
        assert second.hits() is not None
        assert same(first.hits(), before)
    assert {path.name for path in tmp_path.iterdir()} == {"runs.parquet", "hits.parquet"}


def test_a_run_never_gets_the_hits_of_another(
    tmp_path: Path, keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new run replaces an old one. Killed half-way, the old one is left without hits, not with those of the new."""
    job = jobs_in(tmp_path)[0]
    old = keep(job)
    write = store._write

    def dying(table: pa.Table, file: Path, **options: Any) -> None:
        if file.name == "runs.parquet":
            raise KeyboardInterrupt
        write(table, file, **options)

    monkeypatch.setattr(store, "_write", dying)
    with pytest.raises(KeyboardInterrupt):
        keep(job, fit_seconds=99.0)
    assert job.result() == old
    assert job.hits() is None


def test_what_a_killed_write_left_is_cleared(tmp_path: Path, keep: Keep) -> None:
    job = jobs_in(tmp_path)[0]
    keep(job)
    job.store.pending.mkdir(exist_ok=True)
    for place in (tmp_path / ".runs.parquet.abcd.part", job.store.pending / ".tiny.parquet.abcd.part"):
        place.write_bytes(b"half")
    job.store.reason_file(job.id).write_text("long ago")
    with job.store.writing():
        assert job.result() is not None
    assert {path.name for path in tmp_path.iterdir()} == {"runs.parquet", "hits.parquet"}


def test_two_benchmarks_cannot_write_into_one_folder(tmp_path: Path) -> None:
    with (
        RunStore(tmp_path).writing(),
        pytest.raises(InputError, match="Another benchmark is writing into"),
        RunStore(tmp_path).writing(),
    ):
        pass
    with RunStore(tmp_path).writing():
        pass


def test_the_values_of_a_sweep_share_a_folder(tmp_path: Path, keep: Keep) -> None:
    planned = plan_sweep(COHORT, SweepConfig("alpha", values=(0.01, 1), run_folds=2), tmp_path)
    for seconds, jobs in enumerate(planned.values()):
        for job in jobs:
            keep(job, fit_seconds=float(seconds))
    runs = pq.read_table(tmp_path / "runs.parquet")
    assert runs["setting.alpha"].to_pylist() == [0.01, 1.0, 0.01, 1.0]
    assert runs["fold"].to_pylist() == [0, 0, 1, 1]
    as_typed = planned[1][0]
    assert replace(as_typed, model={"alpha": 1.0}).result() == as_typed.result(), (
        "1 and 1.0 are the same setting"
    )
    assert replace(as_typed, model={"alpha": 2}).result() is None


def test_files_are_read_once_and_again_after_a_change(
    tmp_path: Path, keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = jobs_in(tmp_path)
    for job in jobs[:-1]:
        keep(job)
    reads = []
    read = store._read
    monkeypatch.setattr(store, "_read", lambda file: reads.append(file.name) or read(file))
    for _ in range(2):
        assert [job.hits() is None for job in jobs] == [False] * (len(jobs) - 1) + [True]
    assert sorted(reads) == ["hits.parquet", "runs.parquet"]
    keep(jobs[-1])
    assert jobs[-1].hits() is not None


def test_a_file_of_another_kind_is_reported(tmp_path: Path) -> None:
    job = jobs_in(tmp_path)[0]
    pq.write_table(pa.table({"cohort": ["tiny"]}), tmp_path / "runs.parquet")
    with pytest.raises(InputError, match="earlier version of dx2px: use another folder"):
        run_all([job], 1, lambda progress: None)
    (tmp_path / "runs.parquet").write_bytes(b"no Parquet")
    with pytest.raises(InputError, match="cannot be read"):
        job.result()
