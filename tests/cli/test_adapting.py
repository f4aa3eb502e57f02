"""The command adapt, from a cohort file to a model that recognises it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from command_line import dx2px
from dx2px import Cohort
from dx2px.cohort.fingerprint import fingerprint
from dx2px.scoring.folder import read_folder, write_folder
from dx2px.scoring.measured import DATA_KEY
from evidence_model import CLOSED, HEART, HIP

OWN = "icd9pcs:8874"  # a procedure that the base does not know


def test_a_model_is_adapted_and_recognises_its_cohort(evidence_folder: Path, tmp_path: Path) -> None:
    own = Cohort.from_lists([[HEART], [HIP]] * 40, [[OWN], [CLOSED]] * 40)
    own.save(tmp_path / "own.parquet")
    abroad = dx2px("evaluate", evidence_folder, "own.parquet", "--json", folder=tmp_path)
    travel = json.loads(abroad.stdout)["travel"]
    assert travel["procedures"] == {"entries": 80, "known": 0.5, "stood_in": 0.5, "lost": 0.0}
    files = read_folder(evidence_folder)  # as if it had been made from these stays
    write_folder(tmp_path / "base", replace(files, settings={**files.settings, DATA_KEY: fingerprint(own)}))
    words = ("adapt", "own.parquet", "--out", "mine", "--base", "base", "--threads", 1)
    done = dx2px(*words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Warning: The base base was made from this very cohort: these stays" in done.stderr
    assert "rose from" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "base",
        "mine",
        "mine.curves.png",
        "own.parquet",
    ]
    assert "made from this very cohort" in read_folder(tmp_path / "mine").card
    again = dx2px("evaluate", "mine", "own.parquet", "--json", folder=tmp_path)
    assert json.loads(again.stdout)["part"] == "test"
    assert "holds a model already" in dx2px(*words, folder=tmp_path).stderr


@pytest.mark.parametrize(
    ("diagnoses", "procedures", "said"),
    [
        ([[HIP]] * 5, [[CLOSED]] * 5, "has 5 stays; adapting needs at least 50"),
        ([[HIP], [HEART]] * 30, [[CLOSED]] * 60, "the same procedure, 79.15: there is nothing to rank"),
        ([["icd9cm:V3000"]] * 60, [[CLOSED], [OWN]] * 30, "knows none of this cohort's diagnoses"),
    ],
)
def test_a_cohort_that_cannot_be_learned_from_gets_a_sentence_and_nothing_is_written(
    evidence_folder: Path, tmp_path: Path, diagnoses: list[list[str]], procedures: list[list[str]], said: str
) -> None:
    Cohort.from_lists(diagnoses, procedures).save(tmp_path / "own.parquet")
    done = dx2px("adapt", "own.parquet", "--out", "mine", "--base", evidence_folder, folder=tmp_path)
    assert done.returncode == 1
    assert said in done.stderr
    assert not (tmp_path / "mine").exists()
