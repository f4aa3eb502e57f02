"""What the documents promise can be found: files they link to, commands they name, no path of a machine."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)\)", path.read_text())
    missing = [t for t in targets if "://" not in t and not (path.parent / t).exists()]
    assert not missing


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_commands_exist(path: Path) -> None:
    helped = subprocess.run(
        [sys.executable, "-m", "dx2px", "--help"], capture_output=True, text=True, check=True
    )
    commands = set(re.findall(r"^  (\w+)  ", helped.stdout, re.MULTILINE))
    code = " ".join(re.findall(r"```.*?```|`[^`]+`", path.read_text(), re.DOTALL))
    named = set(re.findall(r"(?:^|[`\n])dx2px (\w+)", code))
    assert named <= commands
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`make (\w+)`|^make (\w+)", path.read_text(), re.MULTILINE):
        assert f"\n{''.join(target)}:" in makefile


def test_the_command_that_readme_shows_for_python_works() -> None:
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert block is not None
    imported = re.findall(r"^from dx2px import (.+)$", block.group(1), re.MULTILINE)
    code = "\n".join(f"from dx2px import {names}" for names in imported)
    subprocess.run([sys.executable, "-c", code], check=True)
