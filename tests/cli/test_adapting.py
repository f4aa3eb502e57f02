"""The command adapt, from a cohort file to a model that recognises it."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import dx2px
from dx2px import Cohort
from evidence_model import CLOSED, HEART, HIP

OWN = "icd9pcs:8874"  # a procedure that the base does not know


def test_a_model_is_adapted_and_recognises_its_cohort(evidence_folder: Path, tmp_path: Path) -> None:
    Cohort.from_lists([[HEART], [HIP]] * 40, [[OWN], [CLOSED]] * 40).save(tmp_path / "own.parquet")
    abroad = dx2px("evaluate", evidence_folder, "own.parquet", "--json", folder=tmp_path)
    travel = json.loads(abroad.stdout)["travel"]
    assert travel["procedures"] == {"entries": 80, "known": 0.5, "stood_in": 0.5, "lost": 0.0}
    words = ("adapt", "own.parquet", "--out", "mine", "--base", evidence_folder, "--threads", 1)
    done = dx2px(*words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "rose from" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "mine.curves.png", "own.parquet"]
    again = dx2px("evaluate", "mine", "own.parquet", "--json", folder=tmp_path)
    assert json.loads(again.stdout)["part"] == "test"
    assert "holds a model already" in dx2px(*words, folder=tmp_path).stderr


def test_a_cohort_that_is_too_small_is_refused_and_nothing_is_written(
    evidence_folder: Path, tmp_path: Path
) -> None:
    Cohort.from_lists([[HIP]] * 5, [[CLOSED]] * 5).save(tmp_path / "five.parquet")
    words = ("adapt", "five.parquet", "--out", "mine", "--base", evidence_folder)
    done = dx2px(*words, folder=tmp_path)
    assert done.returncode == 1
    assert "has 5 stays; adapting needs at least 50" in done.stderr
    assert not (tmp_path / "mine").exists()
