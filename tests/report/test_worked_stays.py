"""The worked stays of docs/examples.md: its commands run, its pictures and tables come from its script."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dx2px.answers import Model
from dx2px.answers.shipped import model_path
from dx2px.cli.app import app
from dx2px.lab.synthetic import SyntheticConfig, generate
from scripts import loaded

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "examples.md").read_text()
COMMANDS = re.findall(r"^dx2px (explain .+)$", TEXT, re.MULTILINE)
LARGEST = 60_000  # bytes of a picture


@pytest.fixture(scope="module")
def examples() -> Any:
    return loaded(ROOT / "studies" / "examples.py")


@pytest.fixture(scope="module")
def model() -> Model:
    return Model.load(model_path())


@pytest.fixture(scope="module")
def paper() -> Model:
    return Model.load(model_path("nhds2010-paper"))


@pytest.mark.parametrize("command", COMMANDS[::3], ids=lambda command: picture(command))
def test_commands_of_the_document_run(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every third of them, with either model; the script drew the pictures of all."""
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, shlex.split(command))
    assert done.exit_code == 0, done.output
    assert (tmp_path / picture(command)).read_bytes().startswith(b"\x89PNG")


def picture(command: str) -> str:
    """The file that a command writes."""
    words = shlex.split(command)
    return words[words.index("--out") + 1]


def test_the_document_has_the_nine_stays_of_the_script(examples: Any) -> None:
    typed = [examples.commands(one, n).splitlines() for n, one in enumerate(examples.STAYS, start=1)]
    assert [f"dx2px {command}" for command in COMMANDS] == [line for pair in typed for line in pair]
    assert len(COMMANDS) == 2 * 9
    for name in (f"stay-{number}{of}.png" for number in range(1, 10) for of in ("", "-paper")):
        assert 5_000 < (ROOT / "docs" / "pictures" / name).stat().st_size < LARGEST


def test_tables_name_each_procedure_with_its_rank_and_what_was_unknown(
    examples: Any, model: Model, paper: Model
) -> None:
    for one in examples.STAYS[:4]:
        table = examples.table(model, paper, one)
        explained = model.explain(one.diagnoses, one.procedures)
        for procedure in explained.procedures:
            rank = procedure.rank if procedure.status == "known" else "unknown"
            assert re.search(rf"{re.escape(procedure.title)} \| \**{rank}\** \|", table)
        for procedure in paper.explain(one.diagnoses, one.procedures).procedures:
            assert re.search(
                rf"{re.escape(procedure.title)} .*\| \**{procedure.rank}\** \| [^|]+\|$", table, re.MULTILINE
            )
        new = [d for d in explained.diagnoses if d.status != "known"]
        assert ("knows all of these codes" in table) == (not new and "unknown" not in table)


def test_the_script_replaces_only_what_is_between_its_marks(
    examples: Any, model: Model, paper: Model
) -> None:
    old = "before\n<!-- stay 1 -->\nold\n<!-- end of stay 1 -->\nafter <!-- stay 2 --><!-- end of stay 2 -->"
    new = examples.regenerated(old, {"stay 1": "new \\1", "stay 2": "two"})
    assert new == (
        "before\n<!-- stay 1 -->\nnew \\1\n<!-- end of stay 1 -->\n"
        "after <!-- stay 2 -->\ntwo\n<!-- end of stay 2 -->"
    )
    assert (
        len(re.findall(r"of the paper's 45 recommendations \d+ are among", examples.summary(model, paper)))
        == 2
    )


def test_small_pictures_are_small(examples: Any, model: Model, tmp_path: Path) -> None:
    examples.save_small(model.explain(examples.STAYS[1].diagnoses), tmp_path / "s.png")
    assert (tmp_path / "s.png").stat().st_size < LARGEST


def test_counts_are_of_stays(examples: Any) -> None:
    cohort, _ = generate(SyntheticConfig(stays=300))
    lines = examples.counts(cohort).splitlines()
    assert len(lines) == len(examples.PAIRS)
    code, other = examples.PAIRS[3]
    some = [row for row in range(len(cohort)) if code in cohort.diagnoses_of(row)]
    both = sum(other in cohort.procedures_of(row) for row in some)
    assert lines[3].startswith(f"{both:,} of {len(some):,} stays")
