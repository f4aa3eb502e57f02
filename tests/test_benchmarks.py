"""Benchmarks are run by hand, so at least each must still fit the library that it measures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "benchmarks"


def test_every_script_can_be_imported_and_says_how_it_is_run() -> None:
    scripts = sorted(FOLDER.glob("*.py"))
    program = "import sys, importlib as i\nfor name in sys.argv[1:]: print(name, bool(i.import_module(name).__doc__))"
    names = [script.stem for script in scripts]
    done = subprocess.run(
        [sys.executable, "-c", program, *names], cwd=FOLDER, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-1] == [f"{name} True" for name in names]
