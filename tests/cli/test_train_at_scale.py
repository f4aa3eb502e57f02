"""`dx2px train` on a stream, and as torchrun starts it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dx2px.lab.synthetic import SyntheticConfig, generate


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scale") / "C.parquet"
    generate(SyntheticConfig(stays=800))[0].save(path)
    return path


def test_a_streamed_model_is_measured_on_its_own_test_part(
    file: Path, tmp_path: Path, ask: Callable[..., Any]
) -> None:
    small = ("--stream", "--method", "e+sa+ma", "--dim", "8", "--heads", "2", "--epochs", "1")
    trained = ask("train", file, "--out", tmp_path / "M", *small)
    assert trained.returncode == 0
    assert "e+sa+ma on the test part" in trained.stdout
    evaluated = ask("evaluate", tmp_path / "M", file, "--json")
    assert evaluated.returncode == 0
    found = json.loads(evaluated.stdout)
    assert found["part"] == "test"
    assert found["stays"] == pytest.approx(160, abs=40)


@pytest.mark.parametrize("rank", [0, 1])
def test_methods_of_one_process_say_so_once(
    rank: int, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Callable[..., Any]
) -> None:
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT")
    for name, value in zip(names, (rank, 2, rank, 2, 0), strict=True):
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "some run")
    done = ask("train", file, "--out", tmp_path / "M", "--method", "popularity")
    assert done.returncode == 1
    sentence = "dx2px: The method popularity is learned by a single process: start it without torchrun.\n"
    assert done.stderr == ("" if rank else sentence)
    assert not (tmp_path / "M").exists()


def test_streaming_is_refused_for_other_methods(file: Path, tmp_path: Path, ask: Callable[..., Any]) -> None:
    done = ask("train", file, "--out", tmp_path / "M", "--method", "popularity", "--stream")
    assert done.returncode == 1
    assert "--stream has no effect on the method popularity" in done.stderr
