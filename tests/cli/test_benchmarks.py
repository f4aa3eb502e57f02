"""Benchmark and sweep, as a user runs them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pyarrow.parquet as pq
import pytest

from command_line import dx2px
from dx2px.lab.synthetic import SyntheticConfig, generate

T = TypeVar("T")
METHODS = "popularity,cooccurrence"
RECIPE = f"""name = "r"
SOURCE
[benchmark]
methods = ["popularity", "cooccurrence"]
folds = 2
[published]
popularity = {[1.5] * 12}
"""


@pytest.fixture(scope="module")
def cohort(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cohort") / "tiny.parquet"
    generate(SyntheticConfig(stays=400))[0].save(path)
    return path


@pytest.fixture(scope="module")
def whole(cohort: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A benchmark that nothing disturbed, by a recipe: its folder, and what it printed."""
    folder = tmp_path_factory.mktemp("whole")
    recipe, out = folder / "r.toml", folder / "out"
    recipe.write_text(RECIPE.replace("SOURCE\n", ""))
    done = dx2px("benchmark", "--recipe", recipe, "--cohort", cohort, "--out", out, "--jobs", "2")
    assert done.returncode == 0, done.stderr
    return out, done.stdout


def test_benchmark_writes_every_table(whole: tuple[Path, str]) -> None:
    out, printed = whole
    names = {
        "results.md",
        "results.tex",
        "results.html",
        "results.png",
        "runs.parquet",
        "hits.parquet",
        "comparisons.md",
    }
    assert {path.name for path in out.iterdir()} == names
    assert pq.read_table(out / "runs.parquet").num_rows == 4
    assert "popularity, as published" in (out / "results.md").read_text()
    assert "|" not in printed  # a table for people, not the Markdown of 200 columns
    assert max(map(len, printed.splitlines())) <= 110
    kept = re.findall(r"\d+\.\d(?: ± \d+\.\d\d)?", (out / "results.md").read_text().split("CPU")[1])
    assert {number for number in kept if "±" in number} <= set(re.findall(r"\d+\.\d ± \d+\.\d\d", printed))
    assert re.search(
        r"^   popularity,( published |.*\n published )", printed, re.MULTILINE
    )  # it may be wrapped


def test_numbers_of_a_source_stand_beside_its_stays_alone(
    cohort: Path, tmp_path: Path, whole: tuple[Path, str]
) -> None:
    recipe, out = tmp_path / "r.toml", tmp_path / "out"
    recipe.write_text(RECIPE.replace("SOURCE", 'source = "mimic3"'))
    out.mkdir()
    for name in ("runs.parquet", "hits.parquet"):
        shutil.copy(whole[0] / name, out)
    done = dx2px("benchmark", cohort, "--recipe", recipe, "--out", out, "--run-folds", "1")
    assert done.returncode == 0, done.stderr
    assert re.search(r"popularity +1 ", done.stdout)
    assert pq.read_table(out / "runs.parquet").num_rows == 4, "runs beyond the first fold stay kept"
    assert "published" not in done.stdout
    assert "are of mimic3 stays; they are not shown beside tiny." in " ".join(done.stderr.split())


def test_the_split_and_the_method_to_compare_with_can_be_chosen(cohort: Path, tmp_path: Path) -> None:
    words = [
        "--methods",
        "cooccurrence,popularity",
        "--folds",
        "2",
        "--run-folds",
        "1",
        "--split-by",
        "patient",
    ]
    done = dx2px("benchmark", cohort, "--out", tmp_path, *words, "--against", "cooccurrence")
    assert done.returncode == 0, done.stderr
    assert [run["key"]["split"]["by"] for run in records(tmp_path)] == ["patient"] * 2
    assert "| tiny | cooccurrence | popularity |" in (tmp_path / "comparisons.md").read_text()


def test_sweep_writes_table_and_figure(cohort: Path, tmp_path: Path) -> None:
    words = ["--values", "4,8", "--folds", "2", "--run-folds", "1", "--method", "e+pooling"]
    done = dx2px("sweep", cohort, "--over", "dim", "--out", tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "dim.md").read_text().count("\n") == 4
    assert (tmp_path / "dim.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the runs' processes under /proc")
def test_a_killed_benchmark_leaves_no_process_and_goes_on_to_the_same_table(
    cohort: Path, tmp_path: Path, whole: tuple[Path, str]
) -> None:
    words, out = ["--methods", METHODS, "--folds", "2"], tmp_path / "out"
    command = [sys.executable, "-m", "dx2px", "benchmark", str(cohort), *words, "--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as killed:
        until((out / "runs.parquet").exists)
        left = until(lambda: children(killed.pid))
        killed.kill()
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in left))
    kept = records(out)
    assert 1 <= len(kept) < 4

    assert dx2px("benchmark", cohort, *words, "--out", out).returncode == 0
    assert [one for one in records(out) if one in kept] == kept, "durations too: they were not run again"
    assert {path.name for path in out.iterdir()} == {path.name for path in whole[0].iterdir()}
    assert metrics(out) == metrics(whole[0])
    assert (out / "comparisons.md").read_text() == (whole[0] / "comparisons.md").read_text()


def children(pid: int) -> list[int]:
    """The runs of a benchmark; the helper that multiprocessing starts beside them is not one."""
    found = []
    for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes():
                found.append(int(one))
    return found


def until(found: Callable[[], T], seconds: float = 300) -> T:
    """What is found once it is something."""
    end = time.monotonic() + seconds
    while not (something := found()):
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)
    return something


def records(out: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in pq.read_table(out / "runs.parquet")["record"].to_pylist()]


def metrics(out: Path) -> dict[str, dict[str, object]]:
    return {f"{one['key']}": one["test"] for one in records(out)}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["benchmark", "--out", "o"], "at least one cohort"),
        (["benchmark", "absent.parquet", "--out", "o"], "There is no cohort file"),
        (["benchmark", "{cohort}", "--methods", "x", "--out", "o"], "There is no method 'x'"),
        (["benchmark", "{cohort}", "--methods", ",", "--out", "o"], "at least one method"),
        (["benchmark", "{cohort}", "--methods", "linear,linear", "--out", "o"], "named twice"),
        (
            ["sweep", "{cohort}", "--over", "heads", "--method", "e+pooling", "--out", "o"],
            "heads has no effect on the method e+pooling",
        ),
        (["benchmark", "{cohort}", "--folds", "1", "--out", "o"], "at least 2 folds"),
        (
            ["benchmark", "{cohort}", "--methods", "linear,mlp", "--against", "bpr", "--out", "o"],
            "not among the methods, linear, mlp",
        ),
        (
            ["sweep", "{cohort}", "--over", "dim", "--values", "a", "--out", "o"],
            "'a' is not a value of dim",
        ),
        (["sweep", "{cohort}", "--over", "heads", "--values", "4,-1", "--out", "o"], "at least 1, not -1"),
    ],
)
def test_wrong_input_gives_one_sentence(
    cohort: Path, words: list[str], sentence: str, ask: Callable[..., Any]
) -> None:
    done = ask(*(word.format(cohort=cohort) for word in words))
    assert done.returncode == 1
    assert sentence in done.stderr
