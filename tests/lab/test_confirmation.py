"""A confirmation: made once per version, the same stays for every model, and numbers that a reader can check."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dx2px.cohort import Cohort
from dx2px.errors import InputError
from dx2px.lab.blocks import blocks_of
from dx2px.lab.confirmation import (
    check_first,
    confirmation_blocks,
    keep_once,
    provenance,
    record_file,
    record_markdown,
)
from dx2px.lab.confirmation.removal import Removal
from dx2px.methods import recommender
from dx2px.ragged import Ragged
from dx2px.version import __version__
from scripts import loaded

SCRIPT = Path(__file__).parents[2] / "studies" / "confirm.py"
HIP, APPENDIX = "icd9cm:82021", "icd9cm:5409"
HIP_PAIR, APPENDIX_PAIR = ("icd9pcs:7935", "icd9pcs:7915"), ("icd9pcs:4701", "icd9pcs:4709")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return loaded(SCRIPT)


def stays(count: int, rare: bool) -> Cohort:
    """A broken hip or an appendicitis, each with one of its two procedures; half of the hips also get blood."""
    rng = np.random.default_rng(0)
    diagnoses, procedures = [], []
    for row in range(count):
        hip = rng.random() < 0.5
        pair = HIP_PAIR if hip else APPENDIX_PAIR
        other = ["icd9cm:4280"] if rng.random() < 0.3 else []
        blood = ["icd9pcs:9904"] if hip and rng.random() < 0.5 else []
        diagnoses.append(
            [HIP if hip else APPENDIX, *other, *(["icd9cm:0389"] if rare and row % 50 == 0 else [])]
        )
        procedures.append([pair[int(rng.random() < 0.3)], *blood])
    return Cohort.from_lists(diagnoses, procedures, sex=["F" if row % 2 else "M" for row in range(count)])


@pytest.fixture(scope="module")
def record(script: ModuleType) -> dict[str, Any]:
    """A dry run with two quick models on synthetic stays."""
    learning, held_out = script.divided(stays(1500, rare=False), stays(1500, rare=True), 0.2)
    ours = script.Entrant(
        lambda: recommender("coupling", epochs=2), (("coupling", "stay"), ("coupling, codes", "codes"))
    )
    found = script.run(learning, lambda: held_out, (ours, script.opponent("popularity")), threads=1)
    made: dict[str, Any] = json.loads(json.dumps(provenance({"sample": SCRIPT}) | {"dry_run": 0.2} | found))
    return made


def test_a_dry_run_accounts_for_every_stay(record: dict[str, Any]) -> None:
    assert record["training"]["stays"] + record["training"]["validation"] == 1200
    projection = record["projection"]
    assert (projection["stays"], projection["stays_kept"]) == (300, 300)
    assert projection["diagnoses"]["codes_set_aside"] == 1
    assert projection["diagnoses"]["entries_set_aside"] > 0
    assert projection["procedures"]["entries_set_aside"] == 0


def test_a_record_has_all_that_was_asked_for(record: dict[str, Any]) -> None:
    assert record["version"] == __version__
    assert record.keys() >= {
        "date",
        "code",
        "files",
        "seed",
        "training",
        "projection",
        "models",
        "differences",
    }
    assert len(record["code"]["sources_sha256"]) == len(record["files"]["sample"]["sha256"]) == 64
    for model in record["models"]:
        assert list(model["f1"]) == ["1", "3", "5", "10"]
        assert list(model["removed"]["among"]) == ["1", "3", "5"]
        assert [one["diagnosis"] for one in model["alternatives"]] == [HIP, APPENDIX]
        assert model["procedures"]["expected_over_observed"] is not None


def test_differences_are_between_the_models_of_the_record(record: dict[str, Any]) -> None:
    models = {one["name"]: one["f1"] for one in record["models"]}
    named = [(one["model"], one["opponent"]) for one in record["differences"]]
    assert named == [("coupling", "popularity"), ("coupling, codes", "popularity")]
    for one in record["differences"]:
        for L, found in one["f1"].items():
            between = models[one["model"]][L]["value"] - models[one["opponent"]][L]["value"]
            assert found["value"] == pytest.approx(between)
            assert found["low"] <= found["value"] <= found["high"]
    assert record["differences"][0]["f1"]["1"]["low"] > 0


def test_alternatives_add_up_to_what_was_coded(record: dict[str, Any]) -> None:
    """Every stay has exactly one of its two. So few stays may be too few to tell that they exclude each other."""
    for found in record["models"][0]["alternatives"]:
        assert found["coded_per_stay"] == 1
        assert found["mean"] == pytest.approx(1, abs=0.1)
        assert (found["too_much"] > 0.05) == (found["p95"] > 1.05)


def test_completion_looks_among_what_is_not_shown(record: dict[str, Any]) -> None:
    """Five procedures, one of them shown: the removed one is always among the first five, whatever the model."""
    for model in record["models"]:
        assert 0 < model["removed"]["stays"] < 300
        assert model["removed"]["among"]["5"]["value"] == 100
    assert record["models"][0]["removed"]["among"]["3"]["value"] > 95


def test_one_procedure_is_removed_from_stays_with_two() -> None:
    procedures = Ragged.from_lists([[3], [1, 2], [0, 2, 4], [5]])
    removal = Removal.draw(procedures, 0)
    assert removal.rows.tolist() == [1, 2]
    for row, shown, removed in zip(
        removal.rows, (removal.shown[0], removal.shown[1]), removal.removed, strict=True
    ):
        assert {*shown.tolist(), int(removed)} == set(procedures[int(row)].tolist())
        assert removed not in shown
    with pytest.raises(InputError, match="No stay has two procedures"):
        Removal.draw(Ragged.from_lists([[3]]), 0)


def test_a_version_is_confirmed_once(
    script: ModuleType, record: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_first(tmp_path)
    file = keep_once(tmp_path, record)
    before = file.read_bytes()
    with pytest.raises(InputError, match=f"Version {__version__} has been confirmed already"):
        keep_once(tmp_path, record | {"seed": 1})
    assert file == record_file(tmp_path)
    assert file.read_bytes() == before
    monkeypatch.setattr(script, "prepared", lambda *_: pytest.fail("data were read"))
    with pytest.raises(InputError, match="has been confirmed already"):
        script.confirm(script.DATA, tmp_path, script.ENTRANTS, 1)


def test_a_run_is_kept_and_the_confirmation_read_last(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With synthetic stays in place of both files."""
    read = []
    for name in (script.SAMPLE, script.CONFIRMATION):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"not read here")

    def prepared(file: Path, min_count: int) -> Cohort:
        read.append((file.name, min_count))
        return stays(300, rare=min_count == 1)

    def learner() -> Any:
        read.append(("training", 0))
        return recommender("popularity")

    monkeypatch.setattr(script, "prepared", prepared)
    entrants = (script.Entrant(learner, (("ours", "codes"),)), script.opponent("popularity"))
    found = script.confirm(tmp_path, tmp_path / "kept", entrants, 1)
    assert read == [("NHDS10.sample.txt.bz2", 100), ("training", 0), ("NHDS10.confirm.txt.bz2", 1)]
    kept = json.loads(record_file(tmp_path / "kept").read_text(encoding="utf-8"))
    assert kept == json.loads(json.dumps(found))
    assert kept["dry_run"] is None
    assert set(kept["files"]) == {"sample", "confirmation"}


def test_the_page_says_whether_this_version_was_confirmed(
    script: ModuleType, record: dict[str, Any], tmp_path: Path
) -> None:
    page, folder = tmp_path / "page.md", tmp_path / "kept"
    page.write_text("Before.\n\n<!-- made: confirmation -->\n<!-- end: confirmation -->\n\nAfter.\n")
    assert "has not been run for this version yet" in script.write_section(page, folder)
    keep_once(folder, record | {"version": "0.0.1"}, "0.0.1")
    texts = confirmation_blocks(folder)
    assert all(text.startswith("The confirmation is made once per release") for text in texts.values())
    assert "0.0.1" in texts["confirmation"]
    keep_once(folder, record | {"dry_run": None})
    script.write_section(page, folder)
    made = blocks_of(page.read_text())["confirmation"]
    assert made.startswith(f"Version {__version__}, confirmed on {record['date'][:10]}.")
    assert "has not been run" not in made
    assert page.read_text().endswith("After.\n")


def test_the_tables_show_every_model_and_call_a_dry_run_one(record: dict[str, Any]) -> None:
    text = record_markdown(record)
    assert text.startswith("Dry run, not a confirmation")
    for line in (
        "| coupling, codes | popularity | +",
        "| coupling | 820.21 | 79.35 + 79.15 | ",
        "| popularity | ",
    ):
        assert line in text


def test_mistakes_are_one_sentence(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for part, problem in (("0.1", "Name the folder of the open data"), ("2", "between 0 and 1, not 2.0")):
        monkeypatch.setattr(sys, "argv", ["confirm.py", "--dry-run", part, "--data", str(tmp_path)])
        with pytest.raises(SystemExit) as ended:
            script.main()
        said = capsys.readouterr()
        assert (ended.value.code, said.out) == (1, "")
        assert said.err.startswith("Error: ")
        assert problem in said.err
        assert said.err.count("\n") == 1
