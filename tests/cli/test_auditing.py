"""`dx2px audit`, as a user runs it."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from command_line import Done, dx2px
from dx2px.answers.defects import KINDS
from dx2px.scoring.calibration import Calibration
from dx2px.scoring.curve import Curve
from dx2px.scoring.folder import ModelFiles, write_folder

LINE = Curve(np.array([-20.0, 20.0]), np.array([-20.0, 20.0]))
SIGMOID = Calibration(
    False, LINE, np.array([1.0, 0.0, 0.0, 0.0]), LINE, np.array([0.5, 0.9]), np.array([0.9, 0.6])
)
DIAGNOSES, PROCEDURES = ("icd9cm:25000", "icd9cm:4280"), ("icd9pcs:3722", "icd9pcs:3995")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model in which 4280 goes with 3722 and 25000 with 3995; 40 stays, two with planted mistakes."""
    path = tmp_path_factory.mktemp("audit")
    U = np.array([[-9, 6], [6, -9]], np.float32)
    files = ModelFiles(
        method="e+pooling",
        settings={"model": {"dim": 2, "pooling": "mean"}},
        diagnoses=DIAGNOSES,
        procedures=PROCEDURES,
        arrays={"U": U, "V": np.eye(2, dtype=np.float32)},
        history=pa.table({"epoch": [1]}),
        card="# Planted\n",
        calibration=SIGMOID,
    )
    write_folder(path / "model", files)
    procedures = [["37.22"]] * 40
    procedures[7], procedures[9] = ["37.22", "39.95"], ["99.99"]
    stays = {
        "stay_id": [f"patient-{place}" for place in range(40)],
        "diagnoses": [["428.0"]] * 39 + [["nonsense"]],
        "procedures": procedures,
    }
    pq.write_table(pa.table(stays), path / "C.parquet")
    return path


def audit(folder: Path, *words: str | Path) -> Done:
    return dx2px("audit", *words, folder=folder)


def test_planted_mistakes_are_found_and_no_id_is_told(folder: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "A.parquet", tmp_path / "W.html"
    done = audit(
        folder, "--model", "model", "C.parquet", "--out", out, "--worklist", page, "--precision", "0.08"
    )
    assert done.returncode == 0, done.stderr
    found = pq.read_table(out).to_pylist()
    assert [(one["stay_id"], one["kind"], one["code"]) for one in found] == [
        ("patient-7", "unsupported", "icd9pcs:3995"),
        ("patient-9", "omitted", "icd9pcs:3722"),
    ]
    assert found[0]["strength"] > found[1]["strength"]
    assert "patient-7" in page.read_text()
    told = done.stdout + done.stderr
    assert "patient" not in told
    assert "audit: 40 of 40" in done.stderr
    assert "can use none of their diagnoses: 1 stay." in done.stderr
    assert "Unknown procedures, not audited: 1." in done.stderr
    assert "not proof of a mistake" in done.stderr
    assert "40 stays, 2 of them (5.0%) with a finding" in done.stdout
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[:2] for line in lines if line and line[0] in KINDS][:2] == [
        ["unsupported", "1"],
        ["omitted", "1"],
    ]
    assert ["unsupported", "39.95", "Hemodialysis", "1"] in [line[:4] for line in lines]
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_the_kinds_and_the_summary_as_data(folder: Path, tmp_path: Path) -> None:
    words = ("--model", "model", "C.parquet", "--out", tmp_path / "A.csv", "--precision", "0.08")
    done = audit(folder, *words, "--kinds", "omitted, swap", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["stays"], told["stays_with_findings"], told["kept"]) == (40, 1, 1)
    assert told["by_kind"] == dict.fromkeys(KINDS, 0) | {"omitted": 1}
    (group,) = told["groups"]
    assert (group["kind"], group["code"], group["stays"]) == ("omitted", "icd9pcs:3722", 1)
    assert group["probability"] == pytest.approx(1 / (1 + np.exp(-6)), abs=1e-3)
    assert "patient" not in done.stdout


def test_csv_and_a_bound_on_findings(folder: Path, tmp_path: Path) -> None:
    words = ("--model", "model", "C.parquet", "--out", tmp_path / "A.csv", "--precision", "0.08")
    done = audit(folder, *words, "--per-100", "2")
    assert done.returncode == 0, done.stderr
    assert pyarrow.csv.read_csv(tmp_path / "A.csv").column("stay_id").to_pylist() == ["patient-7"]
    assert "Counted but not kept: 1 weaker finding." in done.stderr
    kept = audit(folder, *words, "--most", "1")
    assert "Counted but not kept: 1 weaker finding." in kept.stderr
    assert audit(folder, *words, "--wrong", "1e-6", "--omitted", "1e-6").returncode == 0
    assert pyarrow.csv.read_csv(tmp_path / "A.csv").num_rows == 0


def test_stays_in_icd_10_are_audited_by_the_packages_models(tmp_path: Path) -> None:
    """Without being asked to; unless that is refused, or ICD-9 asked for, in which their procedures are not coded."""
    stays = {
        "stay_id": [1, 2],
        "diagnoses": [["M17.11", "I10"], ["N18.6", "Z3A.39"]],
        "procedures": [["0SRC0J9", "5A1D70Z"], ["5A1D70Z"]],
    }
    pq.write_table(pa.table(stays), tmp_path / "C.parquet")
    done = audit(tmp_path, "C.parquet", "--out", "A.parquet")
    assert done.returncode == 0, done.stderr
    assert "Translated exactly: 1; by the nearest code: 2; by their heading: 0. Lost: 1." in done.stderr
    rows = pq.read_table(tmp_path / "A.parquet").to_pylist()
    assert [row["code"] for row in rows if row["kind"] == "unsupported"] == ["icd10pcs:5A1D"]
    assert "icd10pcs:0SR[CDTUVW]" not in {row["code"] for row in rows}
    assert rows[0]["procedures"] == ["icd10pcs:0SRC0J9", "icd10pcs:5A1D70Z"]
    other = audit(tmp_path, "C.parquet", "--out", "B.csv", "--answer-in", "icd9pcs", "--json")
    told = json.loads(other.stdout)
    assert (told["stays_with_other_procedures"], told["kept"]) == (2, 0)
    assert told["mapping"] == {"exact": 1, "approximate": 2, "no-map": 1}
    refused = audit(tmp_path, "C.parquet", "--out", "D.csv", "--no-map")
    assert (refused.returncode, (tmp_path / "D.csv").exists()) == (1, False)
    assert "leave out --no-map" in refused.stderr
    scored = dx2px("score", "C.parquet", "--out", "S.parquet", "--top", "1", folder=tmp_path)
    assert "Lost: 1." in scored.stderr
    assert pq.read_table(tmp_path / "S.parquet")["recommendations"].to_pylist() == [
        ["icd10pcs:0SR[CDTUVW]"],
        ["icd10pcs:5A1D"],
    ]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["C.parquet", "--out", "A.xlsx"], "to a .parquet or .csv file"),
        (["C.parquet", "--out", "C.parquet"], "would replace the stays"),
        (["absent.parquet", "--out", "A.csv"], "There is no file absent.parquet"),
        (["C.parquet", "--out", "A.csv", "--precision", "1.5"], "precision must lie between 0 and 1"),
        (["C.parquet", "--out", "A.csv", "--wrong", "-1"], "wrong must lie between 0 and 1"),
        (["C.parquet", "--out", "A.csv", "--omitted", "2"], "omitted must lie between 0 and 1"),
        (["C.parquet", "--out", "A.csv", "--kinds", "missing"], "There is no kind of finding 'missing'"),
        (["C.parquet", "--out", "A.csv", "--kinds", ","], "At least one kind"),
        (["C.parquet", "--out", "A.csv", "--per-100", "200000"], "at most 100,000"),
        (["C.parquet", "--out", "A.csv", "--worklist", "C.parquet/W.html"], "C.parquet is a file"),
        (["C.parquet", "--out", "A.csv", "--worklist", "W.txt"], "The worklist is an .html file"),
        (["C.parquet", "--out", "A.csv", "--per-100", "0"], "must be above 0"),
        (["C.parquet", "--out", "A.csv", "--model", "absent"], "there is no such folder"),
    ],
)
def test_wrong_input_gives_one_sentence(folder: Path, words: list[str], sentence: str) -> None:
    given = words if "--model" in words else [*words, "--model", "model"]
    done = audit(folder, *given)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert sorted(path.name for path in folder.iterdir()) == ["C.parquet", "model"]


def test_groups_need_icd_10_and_drgpy(folder: Path) -> None:
    """Told before the work begins: the model in the test is of ICD-9."""
    words = ("--model", "model", "C.parquet", "--out", "A.csv", "--drg", "latest")
    done = audit(folder, *words)
    assert done.returncode == 1
    if find_spec("drgpy") is None:
        assert "This command needs drgpy, which is not installed: pip install 'dx2px[drg]'." in done.stderr
    else:
        assert "MS-DRGs need ICD-10 codes" in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["C.parquet", "model"]
