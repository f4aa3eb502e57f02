"""The command line inside the test's own process: a new process spends seconds on imports alone.

Tests about a process (signals, what is imported, a terminal) start one of their own.
"""

from __future__ import annotations

import io
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest

from dx2px.cli import main


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


def dx2px(*words: str | Path | int, folder: Path = Path()) -> Done:
    """Run `dx2px` in a folder; an exception that it lets through fails the test, as a traceback would."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    with (
        patch.object(sys, "argv", ["dx2px", *map(str, words)]),
        chdir(folder),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    written = []
    for stream in (out, err):
        stream.seek(0)
        written.append(stream.read())
    return Done(int(ended.value.code or 0), *written)
