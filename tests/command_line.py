"""The command line inside the test's own process: a new process spends seconds on imports alone.

Tests about a process (signals, what is imported) start one of their own; `on_terminal` starts one on a terminal.
"""

from __future__ import annotations

import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from fcntl import ioctl
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


def on_terminal(*words: str | Path, columns: int = 80) -> list[str]:
    """What a command shows on a pseudo-terminal, results and remarks, line by line, without colours."""
    keeper, terminal = pty.openpty()
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    with subprocess.Popen(
        [sys.executable, "-m", "dx2px", *map(str, words)],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=environment | {"TERM": "xterm"},
    ) as done:
        os.close(terminal)
        shown = b""
        while True:
            try:
                part = os.read(keeper, 65536)
            except OSError:  # Linux says so when the last writer is gone
                break
            if not part:
                break
            shown += part
    os.close(keeper)
    assert done.returncode == 0, shown.decode()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()).replace("\r\n", "\n").splitlines()
