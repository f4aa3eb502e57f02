"""The progress of a benchmark on a terminal: a table of cohorts and methods; a line elsewhere."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dx2px.cli.board import View, board
from dx2px.lab.benchmark import Progress
from dx2px.lab.benchmark.progress import Running, Tally
from dx2px.lab.synthetic import SyntheticConfig, generate


def progress() -> Progress:
    tallies = (
        Tally("small", "linear", total=10, done=10, failed=0, running=0),
        Tally("small", "mlp", total=10, done=3, failed=1, running=2),
        Tally("large", "linear", total=10, done=0, failed=0, running=0),
    )
    now = time.monotonic()
    runs = (Running("small mlp fold 4", now - 125), Running("small mlp fold 5", now - 3700))
    return Progress(30, 13, 1, runs, 7200.0, True, tallies, now)


def drawn(view: View) -> str:
    from rich.console import Console

    out = io.StringIO()
    Console(file=out, width=100).print(view)
    return out.getvalue()


def test_the_table_shows_what_is_done_what_runs_and_what_failed() -> None:
    view = View("benchmark")
    view.progress = progress()
    lines = drawn(view).splitlines()
    head = next(line for line in lines if "small" in line and "large" in line)
    linear = next(line for line in lines if line.strip().startswith("linear"))
    mlp = next(line for line in lines if line.strip().startswith("mlp"))
    assert head.index("small") < head.index("large")
    assert linear.split() == ["linear", "10/10", "0/10"]
    assert "3/10 · 2 running · 1 failed" in mlp
    assert mlp.rstrip().endswith("–")  # not planned on the second cohort
    assert any("13 of 30 runs done, 1 failed, about 2.0 h left" in line for line in lines)
    assert any(line.strip() in ("small mlp fold 4, 2:05", "small mlp fold 4, 2:06") for line in lines)
    assert any(line.strip().startswith("small mlp fold 5, 1:01:4") for line in lines)


def test_time_left_runs_down_between_two_states() -> None:
    state = progress()
    assert state.summary(later=3600).endswith("60 min left")
    assert state.summary(later=1e6).endswith("about 0 s left")


def test_elsewhere_it_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with board("benchmark") as tell:
        tell(progress())
    error = capsys.readouterr().err
    assert error == f"benchmark: {progress().line}\n"
    assert "running small mlp fold 4, small mlp fold 5" in error


def test_a_benchmark_on_a_terminal_draws_the_table(tmp_path: Path) -> None:
    cohort, out = tmp_path / "tiny.parquet", tmp_path / "out"
    generate(SyntheticConfig(stays=300))[0].save(cohort)
    words = ["--methods", "popularity", "--folds", "2", "--run-folds", "1", "--out", str(out)]
    keeper, terminal = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-m", "dx2px", "benchmark", str(cohort), *words],
        stdout=subprocess.PIPE,
        stderr=terminal,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "40"},
    )
    os.close(terminal)
    shown = _everything(keeper)
    printed = done.communicate()[0].decode()
    assert (out / "results.md").read_text().startswith("### tiny: 300 stays")
    assert "tiny: 300 stays" in printed
    assert printed.count("popularity") == printed.count("method")  # every table keeps its label
    for heading in ("R@1", "P@3", "F1@10"):
        assert heading in printed
    assert done.returncode == 0
    assert "popularity" in shown
    assert "0/1 · 1 running" in shown
    assert "1/1" in shown
    assert "1 of 1 runs done" in shown


def _everything(keeper: int) -> str:
    """What was written to the terminal until nobody held its other end."""
    parts = []
    with os.fdopen(keeper, "rb", buffering=0) as stream:
        while True:
            try:
                part = stream.read(65536)
            except OSError:  # Linux says so when the last writer is gone
                break
            if not part:
                break
            parts.append(part)
    return b"".join(parts).decode(errors="replace")
