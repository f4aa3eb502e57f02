"""`make luo2019` rehearsed: tables of MIMIC-III's format with synthetic stays, small thresholds and cheap methods."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from dx2px.cohort import Cohort, prepare
from dx2px.errors import CohortError
from dx2px.lab.benchmark import Cell, Row
from dx2px.lab.benchmark.markdown import COLUMNS
from dx2px.lab.benchmark.plan import Job
from dx2px.lab.benchmark.runs import run_job
from dx2px.lab.discrepancies import Difference, SetReport, differences
from dx2px.lab.recipe import load_recipe
from dx2px.lab.set_sizes import SetSize, as_numbers, readings, set_size, size_of
from dx2px.lab.synthetic import SyntheticConfig, synthesize
from dx2px.ragged import Ragged
from scripts import loaded

ROOT = Path(__file__).parents[1]
SIZES = {"small": 40, "medium": 20, "large": 5}
HEAD = "ROW_ID,SUBJECT_ID,HADM_ID,SEQ_NUM,ICD9_CODE\n"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return loaded(ROOT / "experiments" / "luo2019.py")


@pytest.fixture(scope="module")
def mimic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """600 synthetic stays as the two tables of MIMIC-III."""
    folder = tmp_path_factory.mktemp("mimic-iii")
    synthesize(folder / "syn.parquet", SyntheticConfig(stays=600))
    lines: dict[str, list[str]] = {"DIAGNOSES_ICD": [], "PROCEDURES_ICD": []}
    for row, stay in enumerate(Cohort.load(folder / "syn.parquet")):
        for name, codes in zip(lines, (stay.diagnoses, stay.procedures), strict=True):
            lines[name] += [
                f'{len(lines[name])},{row % 450},{row},{n},"{code.partition(":")[2]}"\n'
                for n, code in enumerate(codes, 1)
            ]
    for name, entries in lines.items():
        (folder / f"{name}.csv").write_text(HEAD + "".join(entries))
    return folder


def tuned(size: str) -> list[str]:
    """One set has one tuned row."""
    return ["[tuned]", '"methods" = ["word2vec"]'] if size == "small" else []


@pytest.fixture
def recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The printed ones with small thresholds, two cheap methods, one of two folds, and a search of two trials."""
    for name, values in {
        "RATES": (0.001, 0.03),
        "STARTS": (0.1,),
        "LOWER_STARTS": (0.1,),
        "EPOCHS": 3,
    }.items():
        monkeypatch.setattr(f"dx2px.methods.tuning.{name}", values)
    for size, count in SIZES.items():
        text = (ROOT / "experiments" / f"luo2019_{size}.toml").read_text()
        lines = [
            f"min_count = {count}"
            if line.startswith("min_count")
            else 'methods = ["popularity", "cooccurrence"]'
            if line.startswith("methods")
            else "folds = 2\nrun_folds = 1"
            if line.startswith("folds")
            else line
            for line in text.partition("[tuned]")[0].splitlines() + tuned(size)
        ]
        lines += ["[published]", *text.partition("[published]")[2].splitlines()]
        more = "\n".join(lines).replace('"word2vec" =', '"cooccurrence" =')
        (tmp_path / f"luo2019_{size}.toml").write_text(more)
    return tmp_path


def test_one_command_prepares_checks_runs_reports_and_goes_on(
    script: ModuleType, mimic: Path, recipes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def here(jobs: list[Job], workers: int, what: str) -> list[object]:
        """As `run_jobs`, but in this process; an interruption comes after two runs."""
        for job in jobs:
            if len(done) == 2 and "interrupted" not in done:
                done.append("interrupted")
                raise KeyboardInterrupt
            run_job(job, 1)
            job.store.add_pending()
            done.append(job.title)
        return []

    monkeypatch.setattr(script, "run_jobs", here)
    out = recipes / "out"
    with pytest.raises(KeyboardInterrupt):
        script.luo2019(mimic, out, recipes=recipes)
    before = (out / "report.md").read_text()
    assert "28,315 · 247 · 75" in before
    assert "Of 0 cells" in before
    script.luo2019(mimic, out, recipes=recipes)
    assert len(done) == len(set(done)) == 7 + 2  # six runs and two trials, none of them twice
    assert "| word2vec, tuned |" in (out / "runs" / "results.md").read_text()
    assert "as published" in (out / "runs" / "results.md").read_text()

    report = (out / "report.md").read_text()
    for size, count in SIZES.items():
        cohort = Cohort.load(script.cohort_file(f"luo2019_{size}", out))
        assert cohort.provenance["settings"] == {"min_count": count}
        assert str(size_of(cohort)) in report
    assert "Of 36 cells" in report  # cooccurrence stands for a published method; popularity is not in Table 1
    first = next(line for line in report.splitlines() if line.startswith("| cooccurrence"))
    assert len(first.split("|")) == 2 + 14
    assert "n" in first.split("(")[1].split(")")[0]  # these sets are not the paper's

    # The readings give the sizes of the sets that `prepare` makes.
    sizes = readings(Cohort.load(script.cohort_file(script.WHOLE, out)), SIZES["small"])
    one_pass = size_of(Cohort.load(script.cohort_file("luo2019_small", out)))
    prepare("mimic3", mimic, out / "again.parquet", min_count=SIZES["small"], repeat_min_count=True)
    repeated = size_of(Cohort.load(out / "again.parquet"))
    assert sizes["codes as text, one pass"] == one_pass != repeated == sizes["codes as text, repeated"]
    assert sizes["one stay per patient, codes as text, one pass"].stays <= 450


def test_procedures_read_as_numbers_lose_their_zeros_and_merge() -> None:
    """03.31 is a spinal tap, 33.1 an incision of the lung; as numbers both are 331."""
    cohort = Cohort.from_lists(
        [["icd9cm:0543"], ["icd9cm:0543"], ["icd9cm:0543"]],
        [["icd9pcs:0331", "icd9pcs:331"], ["icd9pcs:0331"], ["icd9pcs:0017"]],
    )
    numbers = as_numbers(cohort.procedures, cohort.procedure_vocabulary)
    assert [numbers[row].tolist() for row in range(3)] == [[331], [331], [17]]
    assert set_size(cohort.diagnoses, cohort.procedures, 1) == SetSize(3, 1, 3)
    assert set_size(cohort.diagnoses, numbers, 1) == SetSize(3, 1, 2)
    assert set_size(cohort.diagnoses, numbers, 2) == SetSize(2, 1, 1)
    assert set_size(Ragged.from_lists([[0], [0], [0]]), numbers, 3) == SetSize(0, 0, 0)


def test_a_difference_is_held_against_noise_and_told_its_reasons() -> None:
    recipe = load_recipe(ROOT / "experiments" / "luo2019_medium.toml")
    assert recipe.cohort is not None
    printed = dict(zip(COLUMNS, recipe.published["e+pooling"], strict=True))
    cells = {column: Cell(printed[column] + 1.0, 0.9) for column in COLUMNS} | {
        ("1", "precision"): Cell(printed["1", "precision"] + 20.0, 0.9)
    }
    row = Row("medium", recipe.cohort.size.numbers, "e+pooling", 10, cells, None, 0)
    same = SetReport(recipe, recipe.cohort.size, {}, [row])
    found = differences(same, row)
    assert found["3", "f1"].explained  # 1.0 is within 0.9 + 0.15 + 0.05
    assert found["1", "precision"].reasons == "rvp"  # its rank 1 is below ranks 2 and 3 in print
    assert found["5", "recall"].reasons == "vp"
    assert str(found["1", "precision"]) == "55.4 (+20.0 rvp)"
    assert str(Difference(10.0, 12.5, 0.2, "v")) == "10.0 (−2.5 v)"
    tuned = Row("medium", row.sizes, "e+pooling, tuned", 10, cells, None, 0)
    other = SetReport(recipe, SetSize(*(np.array(row.sizes) * 2).tolist()), {}, [tuned])
    assert differences(other, tuned)["5", "recall"].reasons == "nsvp"
    assert differences(same, Row("medium", row.sizes, "popularity", 10, cells, None, 0)) == {}


def test_a_folder_without_the_tables_is_one_sentence_and_leaves_nothing(
    script: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(CohortError, match="diagnoses_icd"):
        script.luo2019(tmp_path / "empty", tmp_path / "out")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
