"""`dx2px serve` refuses, in one sentence, what it should not start with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOKEN = "a-token-that-is-long-enough"


def serve(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dx2px", "serve", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def sentence(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("dx2px: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_other_machines_need_a_token(tmp_path: Path) -> None:
    assert "--token-file" in sentence(serve("--model", tmp_path, "--host", "0.0.0.0"))
    (tmp_path / "token").write_text(TOKEN)
    refused = serve("--model", tmp_path, "--host", "0.0.0.0", "--token-file", tmp_path / "token")
    assert "--trusted-host" in sentence(refused)
    assert TOKEN not in refused.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--token-file", "none"), "No such file"),
        (("--token-file", "short"), "must hold one token"),
        (("--model", "none"), "there is no such folder"),
        (("--allow-origin", "*"), "without path or wildcard"),
        (("--base-url", "somewhere"), "The base URL is an address"),
        (("--model", "."), "cannot be used as a model"),
    ],
)
def test_files_that_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short").write_text("short")
    assert said in sentence(serve("--model", "model", *options))


def test_callers_are_read_before_the_service_starts(tmp_path: Path) -> None:
    (tmp_path / "callers").write_text("short")
    assert "must be JSON of the form" in sentence(serve("--cds-callers", tmp_path / "callers", "--port", "0"))


@pytest.mark.parametrize("module", ["uvicorn", "fastapi", "orjson", "prometheus_client", "jwt"])
def test_a_missing_extra_is_named(module: str) -> None:
    code = f"import sys; sys.modules[{module!r}] = None; sys.argv = ['dx2px', 'serve']"
    code += "; from dx2px.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'dx2px[serve]'" in sentence(done)
