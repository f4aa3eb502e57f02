"""`dx2px score`, as a user runs it, stops it and has it killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dx2px.scoring.folder import write_folder
from synthetic_models import random_files

STAYS = 60_000
# The command with parts of 2,048 stays instead of 131,072, so that a small file has many.
SMALL_PARTS = (
    "import dx2px.answers.population as p, dx2px.answers.population_file as f\n"
    "p.STAYS = f.STAYS = 512; f.PART = 2048\n"
    "from dx2px.cli import main; main()"
)
# The same, waiting after each part, so that there is time to interrupt it on a machine that is busy with other things.
SLOW_PARTS = SMALL_PARTS.replace(
    "from dx2px.cli",
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored where a shell left it so
    "import time; from dx2px.answers.kept_parts import Parts; keep = Parts.save\n"
    "def save(*of): time.sleep(0.2); return keep(*of)\n"
    "Parts.save = save\n"
    "from dx2px.cli",
)


def command(*words: str | Path, start: tuple[str, ...] = ("-m", "dx2px")) -> list[str]:
    return [sys.executable, *start, "score", *map(str, words)]


def score(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*words), capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a random model and sixty thousand stays of its codes and some others."""
    path = tmp_path_factory.mktemp("population")
    rng = np.random.default_rng(0)
    write_folder(path / "model", random_files("e+sa+ma", 60, 20, dim=16, heads=2))
    codes = pa.array([f"icd9cm:{4000 + i}" for i in range(240)] + ["icd9cm:V700"])
    lengths = rng.integers(0, 8, STAYS)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    lists = pa.ListArray.from_arrays(offsets, codes.take(pa.array(rng.integers(0, 241, lengths.sum()))))
    stays = pa.table({"diagnoses": lists, "stay_id": pa.array(np.arange(STAYS)).cast(pa.string())})
    pq.write_table(stays, path / "C.parquet", row_group_size=5000)
    return path


def test_score_writes_tells_and_counts(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "R.parquet"
    done = score("--model", folder / "model", folder / "C.parquet", "--out", out, "--top", "4")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    found = pq.read_table(out)
    assert found["stay_id"].to_pylist() == [str(i) for i in range(STAYS)]
    lengths = pa.compute.list_value_length(found["recommendations"])
    without = pa.compute.sum(pa.compute.equal(lengths, 0)).as_py()
    assert set(lengths.to_pylist()) == {0, 4}
    assert f"score: {STAYS:,} of {STAYS:,}" in done.stderr
    assert f"Scored {STAYS:,} stays with " in done.stderr
    assert f"{without:,} stays have no diagnosis that the model can use, and an empty list." in done.stderr
    assert f"{pa.compute.sum(found['unknown_diagnoses']).as_py():,} were left out" in done.stderr
    assert "not medical advice" in done.stderr


def test_killed_again_and_again_it_ends_in_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    whole, out = tmp_path / "whole.parquet", tmp_path / "R.parquet"
    small = ("-c", SMALL_PARTS)
    words = ("--model", folder / "model", folder / "C.parquet", "--out")
    subprocess.run(command(*words, whole, start=small), check=True, capture_output=True)
    parts = tmp_path / "R.parquet.parts"
    for least in (1, 4, 12, 13, 25):
        _kill_once_there_are(least, parts, command(*words, out, start=small))
        assert not out.exists()
    done = subprocess.run(command(*words, out, start=small), check=True, capture_output=True, text=True)
    assert f"score: {STAYS:,} of {STAYS:,}" in done.stderr
    assert out.read_bytes() == whole.read_bytes()
    assert pq.read_table(out)["stay_id"].to_pylist() == [str(i) for i in range(STAYS)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["R.parquet", "whole.parquet"]


def _kill_once_there_are(least: int, parts: Path, words: list[str]) -> None:
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as started:
        while len(list(parts.glob("[0-9]*.arrow"))) < least:
            assert started.poll() is None
            time.sleep(0.002)
        os.kill(started.pid, signal.SIGKILL)
        assert started.wait(timeout=60) == -signal.SIGKILL


def test_interrupted_it_says_how_to_go_on(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "R.parquet"
    words = command("--model", folder / "model", folder / "C.parquet", "--out", out, start=("-c", SLOW_PARTS))
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as started:
        assert started.stderr is not None
        while "of" not in started.stderr.readline():
            assert started.poll() is None
        os.kill(started.pid, signal.SIGINT)
        rest = started.stderr.read()
        assert started.wait(timeout=60) == 130
    assert "the same command continues with the rest" in rest
    assert "Traceback" not in rest
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["C.parquet", "--out", "R.parquet", "--model", "absent"], "there is no such folder"),
        (["absent.parquet", "--out", "R.parquet", "--model", "model"], "There is no file absent.parquet"),
        (["C.parquet", "--out", "C.parquet", "--model", "model"], "would replace the stays"),
    ],
)
def test_wrong_input_gives_one_sentence(folder: Path, words: list[str], sentence: str) -> None:
    done = subprocess.run(command(*words), capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert sorted(path.name for path in folder.iterdir()) == ["C.parquet", "model"]


def test_a_damaged_file_is_said_and_nothing_appears(folder: Path, tmp_path: Path) -> None:
    content = bytearray((folder / "C.parquet").read_bytes())
    content[len(content) // 3 : len(content) // 2] = b"x" * (len(content) // 2 - len(content) // 3)
    (tmp_path / "C.parquet").write_bytes(content)
    done = score("--model", folder / "model", tmp_path / "C.parquet", "--out", tmp_path / "R.parquet")
    assert done.returncode == 1
    assert "is damaged and cannot be read to its end" in done.stderr
    assert not (tmp_path / "R.parquet").exists()


def test_score_needs_neither_torch_nor_an_engine(folder: Path, tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['dx2px', 'score', '--model', 'model', 'C.parquet', '--out', sys.argv[1]]\n"
        "from dx2px.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(sorted({'torch', 'numba', 'ibis', 'duckdb', 'matplotlib', 'scipy'} & set(sys.modules)))"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "R.parquet")]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=folder)
    assert done.stdout.strip() == "[]"
    assert (tmp_path / "R.parquet").exists()
