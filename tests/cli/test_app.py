"""The command line as a whole: version, help, wrong usage."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from dx2px.cli.app import app, main
from dx2px.cli.console import print_json, print_table
from dx2px.version import __version__

COMMANDS = sorted(typer.main.get_command(app).commands)


def test_version_needs_no_command() -> None:
    done = CliRunner().invoke(app, ["--version"])
    assert (done.exit_code, done.output) == (0, f"dx2px {__version__}\n")


def test_help_names_every_command() -> None:
    done = CliRunner().invoke(app, ["--help"])
    assert done.exit_code == 0
    assert all(f"\n  {name} " in done.output for name in COMMANDS)
    assert "not medical advice" in " ".join(done.output.split())


def test_no_summary_is_cut_at_80_columns() -> None:
    lines = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["--help"]).output.splitlines()
    summaries = lines[lines.index("Commands:") + 1 :]
    assert len(summaries) == len(COMMANDS)
    assert [line for line in summaries if not line.endswith(".") or line.endswith("...")] == []


def test_options_stand_under_their_headings() -> None:
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["train", "--help"]).output
    headings = ["Arguments:", "Options:", "Learning:", "The paper's model", "Running:"]
    places = [shown.index(f"\n{heading}") for heading in headings]
    assert places == sorted(places)
    assert places[2] < shown.index("\n  --epochs") < places[3] < shown.index("\n  --heads") < places[4]


@pytest.mark.parametrize("name", ["recommend", "explain", "train", "prepare", "audit"])
def test_help_shows_examples_that_fit_a_terminal(name: str) -> None:
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, [name, "--help"]).output
    examples = [line for line in shown.splitlines() if line.startswith(f"    dx2px {name} ")]
    assert len(examples) >= 2
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_every_argument_and_option_is_explained(name: str) -> None:
    command = typer.main.get_command(app).commands[name]
    done = CliRunner().invoke(app, [name, "-h"])
    assert done.exit_code == 0
    assert command.help
    assert {one.name: bool(one.help) for one in command.params} == {one.name: True for one in command.params}


def test_the_demonstration_makes_all_it_names(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dx2px", "demo", "--out", "demo", "--stays", "1500"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    made = {path.name for path in (tmp_path / "demo").iterdir()}
    assert made >= {"small.parquet", "histograms.png", "model", "why.html", "explanation.png", "report.html"}
    assert "Hemodialysis" in done.stdout
    assert f"file://{tmp_path}/demo/why.html" in done.stderr
    assert f"file://{tmp_path}/demo/report.html" in done.stderr
    assert "Measured on 14,671 stays that it did not learn from" in done.stderr
    assert done.stdout.count("because of") == 4  # three questions and a stay
    page = (tmp_path / "demo/report.html").read_text()
    assert page.index("These stays are synthetic") < page.index("The package's model</h2>")
    assert "python -m dx2px recommend 585.6 427.5 --model demo/model" in done.stderr


@pytest.mark.parametrize("absent", ["torch", "matplotlib"])
def test_the_demonstration_says_at_its_start_what_is_not_installed(
    absent: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("dx2px.cli.demo.find_spec", lambda name: None if name == absent else object())
    monkeypatch.setattr(sys, "argv", ["dx2px", "demo", "--out", str(tmp_path / "demo")])
    with pytest.raises(SystemExit, match="1"):
        main()
    said = f"dx2px: This command needs {absent}, which is not installed: pip install 'dx2px[train]'.\n"
    assert capsys.readouterr() == ("", said)
    assert not (tmp_path / "demo").exists()


def test_ctrl_c_during_the_imports_leaves_no_traceback() -> None:
    code = (
        "import os, signal, sys\n"
        "class Pressed:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'dx2px.cli.auditing':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sys.meta_path.insert(0, Pressed())\n"
        "from dx2px.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def test_brackets_in_tables_are_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("[b]A", ["[/x]", "title"], [["[/b]", "Closed [endoscopic] biopsy"]])
    shown = capsys.readouterr().out
    assert all(text in shown for text in ("[b]A", "[/x]", "[/b]", "Closed [endoscopic] biopsy"))


def test_a_terminal_without_a_character_shows_its_number() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dx2px", "explain", "428.0", "--top", "1"],
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0, done.stderr
    assert b"\\u03bc" in done.stdout


def test_json_is_valid_whatever_the_terminal_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="backslashreplace")
    monkeypatch.setattr(sys, "stdout", shown)
    print_json({"title": "Ménière, μ"})
    shown.flush()
    assert json.loads(shown.buffer.getvalue()) == {"title": "Ménière, μ"}


@pytest.mark.parametrize("words", [["prescribe"], ["--no-such-option"], ["describe"]])
def test_wrong_usage_is_said_and_ends_with_two(words: list[str]) -> None:
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert "Error: " in done.output
