"""Benchmarks and studies are run by hand, so at least each script must still fit the library that it uses."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAM = "import sys, importlib as i\nfor name in sys.argv[1:]: i.import_module(name)"
SHARED = "Shared by the"  # what a module that is not a script says of itself


@pytest.mark.parametrize("folder", ["benchmarks", "studies"])
def test_every_script_can_be_imported(folder: str) -> None:
    names = sorted(script.stem for script in (ROOT / folder).glob("*.py"))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *names],
        cwd=ROOT / folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("folder", ["benchmarks", "studies"])
def test_every_script_says_how_it_is_run(folder: str) -> None:
    for script in (ROOT / folder).glob("*.py"):
        text = script.read_text(encoding="utf-8").split('"""')[1]
        assert SHARED in text or f"python {folder}/{script.name}" in text, script


def test_the_list_of_studies_is_complete() -> None:
    listed = re.findall(r"^\| `(\w+)\.py` \|", (ROOT / "studies" / "README.md").read_text(), re.MULTILINE)
    scripts = [path.stem for path in (ROOT / "studies").glob("*.py") if SHARED not in path.read_text()]
    assert sorted(listed) == sorted(scripts)
