"""The commands that make and show cohorts, as a user runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import dx2px
from dx2px import Cohort

OWN = "stay_id,kind,code\n1,dx,428.0\n1,px,39.95\n2,dx,038.9\n2,px,39.95\n2,dx,nonsense\n"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.csv"
    path.write_text(OWN)
    return path


def test_prepare_prints_counts_and_writes_both_files(own: Path, tmp_path: Path) -> None:
    done = dx2px("prepare", "table", own, "--out", tmp_path / "C.parquet", "--icd", "9")
    assert done.returncode == 0
    assert "entries read" in done.stdout
    assert "Warning: 1 of 5 entries (20.0%) are rejected" in done.stderr
    assert "nonsense" not in done.stdout + done.stderr
    assert len(Cohort.load(tmp_path / "C.parquet")) == 2
    assert (tmp_path / "C.rejects.parquet").exists()


def test_every_column_can_be_named(tmp_path: Path) -> None:
    long, wide, cohort = tmp_path / "long.csv", tmp_path / "wide.csv", tmp_path / "C.parquet"
    long.write_text("a,b,c,d,e,f\n1,p,038.9,dx,icd9,2\n1,p,428.0,dx,icd9,1\n1,p,39.95,px,icd9,1\n")
    named = {"stay": "a", "patient": "b", "code": "c", "kind": "d", "system": "e", "order": "f"}
    words = [word for name, column in named.items() for word in (f"--{name}-column", column)]
    done = dx2px("prepare", "table", long, "--out", cohort, *words)
    assert done.returncode == 0, done.stderr
    assert "rejected" not in done.stdout + done.stderr  # nothing was
    loaded = Cohort.load(cohort)
    codes = [loaded.diagnosis_vocabulary[i] for i in loaded.diagnoses[0]]
    assert codes == ["icd9cm:4280", "icd9cm:0389"]
    assert loaded.patient_ids is not None
    wide.write_text("a,one,two,x\n1,428.0,038.9,39.95\n2,428.0,,39.95\n")
    columns = ["--stay-column", "a", "--diagnosis-columns", "one,two", "--procedure-columns", "x"]
    done = dx2px("prepare", "table", wide, "--out", cohort, "--icd", "9", *columns, "--min-count", "2")
    assert done.returncode == 0, done.stderr
    assert [len(stay) for stay in Cohort.load(cohort).diagnoses] == [1, 1]


def test_the_columns_of_the_context_can_be_named_and_are_described(tmp_path: Path) -> None:
    wide, cohort = tmp_path / "wide.csv", tmp_path / "C.parquet"
    wide.write_text(
        "stay_id,dx1,px1,main,y,s,t\n1,428.0,39.95,038.9,70,w,\n2,428.0,39.95,,71,female,Urgent\n"
    )
    named = ["--principal", "main", "--age", "y", "--sex", "s", "--admission", "t"]
    done = dx2px("prepare", "table", wide, "--out", cohort, "--icd", "9", *named)
    assert done.returncode == 0, done.stderr
    assert "principal = main, age = y, sex = s, admission = t" in done.stderr
    context = Cohort.load(cohort).context
    assert context is not None
    assert context.to_pydict() == {
        "principal": ["icd9cm:0389", None],
        "age": [70, 71],
        "sex": [None, "F"],
        "admission": [None, "urgent"],
    }
    assert json.loads(dx2px("describe", cohort, "--json").stdout)["known"] == {
        "principal": 1,
        "age": 2,
        "sex": 1,
        "admission": 1,
    }
    assert "Known about the stays" in dx2px("describe", cohort).stdout


def test_options_of_another_source_are_refused(tmp_path: Path) -> None:
    done = dx2px("prepare", "mimic3", tmp_path, "--out", tmp_path / "C.parquet", "--stay-column", "a")
    assert done.returncode == 1
    assert done.stderr == "dx2px: --stay-column has no effect on the source mimic3: leave it out.\n"
    done = dx2px(
        "prepare", "nhds", tmp_path, "--out", tmp_path / "C.parquet", "--age", "a", "--principal", "b"
    )
    assert done.stderr == "dx2px: --principal, --age have no effect on the source nhds: leave them out.\n"


def test_strict_writes_nothing(own: Path, tmp_path: Path) -> None:
    done = dx2px("prepare", "table", own, "--out", tmp_path / "C.parquet", "--icd", "9", "--strict")
    assert done.returncode == 1
    assert "Nothing was written" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["own.csv"]


def test_too_many_rejects_fail_unless_they_are_allowed(own: Path, tmp_path: Path) -> None:
    words = ["prepare", "table", own, "--out", tmp_path / "C.parquet", "--icd", "9", "--max-rejected"]
    done = dx2px(*words, "0.1")
    assert done.returncode == 1
    assert "(20.0%) are rejected" in done.stderr
    assert not (tmp_path / "C.parquet").exists()
    assert dx2px(*words, "0.2").returncode == 0


def test_corrections_are_counted_and_a_bad_one_is_one_sentence(own: Path, tmp_path: Path) -> None:
    words = ["prepare", "table", own, "--out", tmp_path / "C.parquet", "--icd", "9", "--correct"]
    done = dx2px(*words, "icd9pcs:39.95=icd9pcs:38.93", "--correct", "icd9pcs:48.1=icd9pcs:04.81")
    assert done.returncode == 0, done.stderr
    assert "entries corrected (--correct)" in done.stdout
    assert "instead of 39.95 (Hemodialysis)" in done.stderr
    assert "Warning: The correction icd9pcs:481=icd9pcs:0481 changed nothing" in done.stderr
    beside = "icd9pcs:39.95=icd9pcs:38.93 with icd9cm:428*"
    counts = json.loads(dx2px(*words, beside, "--json").stdout)
    assert (counts["corrected"], counts["corrected_stays"]) == (1, 1)
    done = dx2px(*words, "icd9pcs:39.95=icd9cm:428.0")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "is not possible" in done.stderr


def test_json_is_all_there_is_on_standard_output(own: Path, tmp_path: Path) -> None:
    cohort = tmp_path / "C.parquet"
    counts = json.loads(dx2px("prepare", "table", own, "--out", cohort, "--icd", "9", "--json").stdout)
    assert counts["entries_read"] == 5
    assert counts["rejected"] == {"not_a_code": 1}
    described = json.loads(dx2px("describe", cohort, "--json").stdout)
    assert described["stays"] == 2
    assert described["procedures"]["frequent"][0]["title"] == "Hemodialysis"
    assert described["diagnoses"]["histogram"] == [0, 2]


def test_describe_prints_titles_and_draws_the_histograms(own: Path, tmp_path: Path) -> None:
    cohort, figure = tmp_path / "C.parquet", tmp_path / "figures" / "h.png"
    dx2px("prepare", "table", own, "--out", cohort, "--icd", "9")
    done = dx2px("describe", cohort, "--plot", figure)
    assert done.returncode == 0
    assert "Congestive heart failure" in done.stdout
    assert "ICD-9-CM" in done.stdout
    assert "428.0" in done.stdout
    assert figure.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["describe", "absent.parquet"], "There is no cohort file absent.parquet"),
        (["describe", "absent.parquet", "--plot", "h.bmp"], "A figure is saved as .png"),
        (["prepare", "mimic3", "absent", "--out", "C.parquet"], "There is no file or folder absent"),
        (["synthesize", "--out", "C.parquet", "--stays", "0"], "must be at least 1"),
    ],
)
def test_wrong_input_gives_one_sentence_and_exit_code_1(words: list[str], sentence: str) -> None:
    done = dx2px(*words)
    assert done.returncode == 1
    assert done.stdout == ""
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("dx2px: ")
    assert sentence in last
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [["prepare"], ["nonsense"], ["prepare", "mimic5", "x", "--out", "y"]])
def test_wrong_usage_gives_exit_code_2(words: list[str]) -> None:
    assert dx2px(*words).returncode == 2


def test_synthesize_writes_the_cohort_and_its_truth(tmp_path: Path) -> None:
    settings = ["--unexplained", "0.2", "--sharing", "2", "--comorbidity", "0.5"]
    done = dx2px("synthesize", "--out", tmp_path / "S.parquet", "--stays", "500", "--seed", "3", *settings)
    assert done.returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {"S.parquet", "S.links.parquet", "S.causes.parquet"}
    assert len(Cohort.load(tmp_path / "S.parquet")) == 500


def test_a_missing_extra_is_named(tmp_path: Path) -> None:
    blocked = "import sys; sys.modules['ibis'] = None; from dx2px.cli import main; main()"
    command = [sys.executable, "-c", blocked, "prepare", "mimic3", str(tmp_path), "--out", "C.parquet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last == "dx2px: This command needs ibis, which is not installed: pip install 'dx2px[train]'."


def test_an_output_folder_that_cannot_be_made_is_said(own: Path, tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    done = dx2px("synthesize", "--stays", "10", "--out", blocker / "C.parquet")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
