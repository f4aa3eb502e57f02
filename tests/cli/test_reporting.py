"""`dx2px report`, as a user runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from command_line import Done, dx2px
from dx2px.cli import reporting
from dx2px.cohort import Cohort
from dx2px.errors import InputError
from dx2px.scoring.folder import ModelFiles, write_folder

DIAGNOSES = ("icd9cm:25000", "icd9cm:4280", "icd9cm:486")
PROCEDURES = ("icd9pcs:3722", "icd9pcs:3995", "icd9pcs:9671")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, 60 stays it never saw, and a cohort of codes it does not know."""
    path = tmp_path_factory.mktemp("report")
    files = ModelFiles(
        method="e+pooling",
        settings={"model": {"dim": 3, "pooling": "mean"}},
        diagnoses=DIAGNOSES,
        procedures=PROCEDURES,
        arrays={"U": 4 * np.eye(3, dtype=np.float32), "V": np.eye(3, dtype=np.float32)},
        history=pa.table({"epoch": [1]}),
        card="# Planted\n",
        diagnosis_counts=[20, 20, 20],
        procedure_counts=[20, 20, 20],
    )
    write_folder(path / "model", files)
    Cohort.from_lists([list(DIAGNOSES)] * 60, [[PROCEDURES[n % 3]] for n in range(60)]).save(
        path / "C.parquet"
    )
    Cohort.from_lists([["icd9cm:0010"]] * 20, [["icd9pcs:0010"]] * 20).save(path / "other.parquet")
    return path


def report(folder: Path, *words: str | Path) -> Done:
    return dx2px("report", *words, folder=folder)


def test_a_page_and_a_map_are_written_and_their_places_told(folder: Path, tmp_path: Path) -> None:
    page, map_page = tmp_path / "new" / "report.html", tmp_path / "map.html"
    done = report(folder, "model", "C.parquet", "--out", page, "--map", map_page, "--stays", 2)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1] == f"The report is in {page}."
    assert "codes of 2 stays, without ids" in done.stderr
    assert page.read_text().startswith("<!doctype html>")
    assert "3995" not in map_page.read_text().split("map-data")[0]
    assert "39.95" in map_page.read_text()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["model", "C.parquet", "--out", "report.pdf"],
            "A page is an .html file, not 'report.pdf': choose another name.",
        ),
        (
            ["model", "C.parquet", "--out", "C.parquet/report.html"],
            "is a file, so report.html cannot be written",
        ),
        (["model", "absent.parquet", "--out", "r.html"], "absent.parquet"),
        (
            ["absent", "C.parquet", "--out", "r.html"],
            "absent cannot be used as a model: there is no such folder, and no model of this name",
        ),
        (
            ["model", "model/config.json", "--out", "r.html"],
            "config.json is not a Parquet file",
        ),
        (
            ["model", "other.parquet", "--out", "r.html"],
            "None of the 20 stays has both a diagnosis and a procedure",
        ),
        (["model", "C.parquet", "C.parquet", "--out", "r.html"], "Give a model and a cohort"),
        (["model", "C.parquet", "--out", "r.html", "--map", "./r.html"], "need two files"),
        (["model", "C.parquet", "--out", "r.html", "--on", "test"], "did not learn from this cohort"),
    ],
)
def test_a_mistake_gives_one_sentence_and_no_file(folder: Path, words: list[str], sentence: str) -> None:
    before = sorted(path.name for path in folder.rglob("*"))
    done = report(folder, *words)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.strip().splitlines()[-1].startswith("dx2px: ")
    assert sorted(path.name for path in folder.rglob("*")) == before


def test_a_place_that_may_not_be_written_is_named_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(InputError, match=f"No permission to write in {tmp_path}."):
        reporting.report([tmp_path / "absent", tmp_path / "absent"], out=tmp_path / "new" / "r.html")
