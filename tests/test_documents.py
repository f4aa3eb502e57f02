"""What the documents promise can be found: files they link to, commands they name, names they import."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dx2px
from command_line import dx2px as dx2px_command

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
DOCUMENTS = [*ROOT.glob("*.md"), *PAGES, *ROOT.glob("benchmarks/*.md"), *ROOT.glob("studies/*.md")]
README_WORDS = 800


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text())
    missing = [t for t in targets if "://" not in t and not (path.parent / t).exists()]
    assert not missing


@pytest.fixture(scope="module")
def commands() -> set[str]:
    asked = [sys.executable, "-m", "dx2px", "--help"]
    helped = subprocess.run(asked, capture_output=True, text=True, check=True)
    return set(re.findall(r"^  (\w+)  ", helped.stdout, re.MULTILINE))


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_commands_exist(path: Path, commands: set[str]) -> None:
    code = " ".join(re.findall(r"```.*?```|`[^`]+`", path.read_text(), re.DOTALL))
    named = set(re.findall(r"(?:^|[`\n/])dx2px ([a-z]+)", code))
    assert named <= commands
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`make ([\w-]+)`|^make ([\w-]+)", path.read_text(), re.MULTILINE):
        assert f"\n{''.join(target)}:" in makefile


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_names_imported_in_examples_exist(path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)
    for module, names in re.findall(r"^from (dx2px[\w.]*) import (.+)$", "\n".join(blocks), re.MULTILINE):
        code = f"from {module} import {names}"
        exec(code, {})


def test_every_command_is_shown(commands: set[str]) -> None:
    tour = (DOCS / "guides/commands.md").read_text()
    assert {command for command in commands if f"dx2px {command} " not in tour} <= {"demo"}


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().split()) < README_WORDS


def test_every_page_is_in_the_navigation() -> None:
    listed = {DOCS / "index.md"}
    for index in (DOCS / "index.md", DOCS / "api/index.md"):
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", index.read_text(), re.DOTALL):
            entries = re.findall(r"^(?!:)(?:.*<)?([\w/-]+)>?$", tree, re.MULTILINE)
            listed |= {index.parent / entry for entry in entries}
    pages = [*PAGES, *DOCS.rglob("*.ipynb")]
    assert {path.with_suffix("") for path in listed} == {path.with_suffix("") for path in pages}


def test_every_task_is_done_by_a_test() -> None:
    row = re.compile(r"^\| (\d+) \|.*\[`(\w+)`\]\(\.\./([\w/.]+)\) \|$", re.MULTILINE)
    tasks = row.findall((DOCS / "tasks.md").read_text())
    assert [int(number) for number, _, _ in tasks] == list(range(1, 21))
    missing = [name for _, name, path in tasks if f"\ndef {name}(" not in (ROOT / path).read_text()]
    assert not missing


def test_every_public_name_is_in_the_reference() -> None:
    pages = "\n".join(page.read_text() for page in (DOCS / "api").glob("*.md"))
    named = re.findall(r"^\.\. auto(?:class|function|exception):: (\w+)$", pages, re.MULTILINE)
    assert sorted(named) == sorted(set(dx2px.__all__) - {"__version__"})


def test_the_notebook_runs_and_shows_what_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers may differ in their last digits on another machine; what is shown, and how, may not."""
    monkeypatch.syspath_prepend(ROOT / "studies")
    monkeypatch.chdir(tmp_path)
    from notebook import execute

    cells = json.loads((DOCS / "notebook.ipynb").read_text())["cells"]
    held = [shown(cell) for cell in cells]
    names = execute(cells)
    assert [shown(cell) for cell in cells] == held
    package = names["package"].recommend(["820.21", "428.0"], top=5, age=81, sex="F")
    assert "icd9pcs:7915" in {one.code for one in package.recommendations}
    assert [one.code for one in names["answer"].recommendations] == ["icd9pcs:7935", "icd9pcs:9904"]
    assert list(names["many"]["stay_id"]) == ["S0", "S0", "S1", "S1"]
    assert (tmp_path / "why.svg").read_text().count("Transfusion of packed cells") == 1


def shown(cell: dict[str, Any]) -> list[tuple[str, ...]]:
    """The kinds of a cell's outputs, and their printed text without numbers."""
    return [
        (*sorted(output.get("data", {})), re.sub(r"[\d.]+", "0", "".join(output.get("text", ""))))
        for output in cell.get("outputs", [])
    ]


# The tutorial's cohort, training and study are larger than is needed to see that its commands fit together. Given after
# its own options, these win; its own are still read.
SMALLER = {"synthesize": ["--stays", "600"], "train": ["--epochs", "1"], "faithfulness": ["--samples", "20"]}


def test_the_tutorial_runs_from_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its commands in their order, then its Python, in one empty folder."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(
        r"^```(\w*)\n(.*?)^```$", (DOCS / "tutorial.md").read_text(), re.DOTALL | re.MULTILINE
    )
    named = []
    for language, block in blocks:
        if block.startswith("stay,kind,code"):
            (tmp_path / "my_stays.csv").write_text(block)
        elif language == "python":
            exec(block, {})
        elif block.startswith("dx2px "):
            name, *words = shlex.split(block)[1:]
            done = dx2px_command(name, *words, *SMALLER.get(name, []))
            assert done.returncode == 0, (block, done.stderr)
            named.append(name)
    assert set(SMALLER) < set(named)
    assert "A3" in (tmp_path / "findings.csv").read_text()
