"""The command line inside the test's own process, for questions that need no work: a new one costs seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from dx2px.cli import main


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Run `dx2px` with these words; an exception that it lets through fails the test, as a traceback would."""

    def run(*words: str | Path) -> Done:
        monkeypatch.setattr(sys, "argv", ["dx2px", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return Done(int(ended.value.code or 0), *capsys.readouterr())

    return run
