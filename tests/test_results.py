"""The published results: documents say what the kept runs say, every run is used, and one command makes it all."""

from __future__ import annotations

import bz2
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pyarrow.parquet as pq
import pytest

from dx2px.cohort import Cohort
from dx2px.cohort.fingerprint import fingerprint
from dx2px.lab.benchmark import RunStore
from dx2px.lab.blocks import blocks_of
from dx2px.lab.experiment import Experiment, load_experiment
from dx2px.lab.synthetic import PRESETS, SyntheticConfig, synthesize
from scripts import loaded

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "experiments" / "results.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return loaded(SCRIPT)


@pytest.fixture(scope="module")
def experiment(script: ModuleType) -> Experiment:
    return load_experiment(script.FILE)


def test_the_documents_say_what_the_kept_runs_say(script: ModuleType, experiment: Experiment) -> None:
    """Where this fails, `make tables` regenerates them."""
    made = {name: text.rstrip() + "\n" for name, text in script.blocks(experiment, ROOT / "results").items()}
    shown = set()
    for document in script.DOCUMENTS:
        kept = blocks_of((ROOT / document).read_text(encoding="utf-8"))
        assert kept
        assert kept == {name: made[name] for name in kept}
        shown |= kept.keys()
    assert shown == made.keys()


def test_every_kept_run_is_part_of_the_experiment(script: ModuleType, experiment: Experiment) -> None:
    """A run of other settings or stays would lie there unseen: run it again."""
    out = ROOT / "results"
    jobs = [job for some in script.plans(experiment, out).values() for job in some]
    assert all(job.hits() is not None for job in jobs if job.result() is not None)
    for name in [*experiment.groups, "sweeps", "tuned"]:
        store = RunStore(out / name)
        assert store.records().keys() == {
            job.id for job in jobs if job.folder == store.folder and job.result()
        }
        assert pq.read_metadata(store.hits_file).num_rows == len(store.records())


def test_every_kept_number_follows_from_the_kept_hits(script: ModuleType, experiment: Experiment) -> None:
    jobs = [
        job for some in script.plans(experiment, ROOT / "results").values() for job in some if job.result()
    ]
    for job in jobs[:: len(jobs) // 25]:
        record, hits = job.result(), job.hits()
        assert record is not None
        assert hits is not None
        for L, means in hits.to_dict()["top"].items():
            assert record["test"]["top"][L] == pytest.approx(means, rel=1e-9)


def test_results_are_few_files() -> None:
    """Besides the confirmations, of which every release adds one."""
    files = [path for path in (ROOT / "results").rglob("*") if path.is_file()]
    assert sum(path.parent.name != "confirm" for path in files) <= 40


def test_a_synthetic_preset_is_still_the_cohort_of_its_runs(
    script: ModuleType, experiment: Experiment, tmp_path: Path
) -> None:
    [spec] = [spec for spec in experiment.cohorts if spec.preset == "small"]
    script.make_cohort(spec, tmp_path, tmp_path)
    cohort = Cohort.load(spec.at(tmp_path))
    assert len(cohort) == PRESETS["small"].stays
    assert fingerprint(cohort) == spec.data


NHDS_SIZES = {500: (56_411, 204, 70), 100: (68_401, 807, 262), 10: (74_120, 2_878, 975)}
Stays = list[tuple[set[str], set[str]]]


def nhds_stays(file: Path) -> Stays:
    """The stays with both kinds of code, read line by line with nothing of dx2px."""
    with bz2.open(file, "rt", encoding="ascii") as lines:
        codes = [
            (
                {line[start : start + 5].strip(" -") for start in range(27, 102, 5)} - {""},
                {line[start : start + 4].strip(" -") for start in range(102, 134, 4)} - {""},
            )
            for line in lines
        ]
    return [(dx, px) for dx, px in codes if dx and px]


def frequent(stays: Stays, count: int) -> Stays:
    """The stays with only the codes that at least `count` of them have; emptied stays are dropped."""
    diagnoses = Counter(code for dx, _ in stays for code in dx)
    procedures = Counter(code for _, px in stays for code in px)
    left = (
        (
            {code for code in dx if diagnoses[code] >= count},
            {code for code in px if procedures[code] >= count},
        )
        for dx, px in stays
    )
    return [(dx, px) for dx, px in left if dx and px]


@pytest.mark.realdata
def test_the_survey_is_still_the_cohort_of_its_runs(
    script: ModuleType, experiment: Experiment, data: Path, tmp_path: Path
) -> None:
    """Two routes to the same stays: the script's preparation, and a naive loop over the file."""
    [spec] = [spec for spec in experiment.cohorts if spec.name == "nhds_medium"]
    assert spec.min_count == 100
    script.make_cohort(spec, data, tmp_path)
    cohort = Cohort.load(spec.at(tmp_path))
    assert fingerprint(cohort) == spec.data

    whole = nhds_stays(data / str(spec.file))
    by_count = {count: frequent(whole, count) for count in NHDS_SIZES}
    sizes = {
        count: (len(left), *(len(set().union(*codes)) for codes in zip(*left, strict=True)))
        for count, left in by_count.items()
    }
    assert sizes == NHDS_SIZES
    counts = cohort.provenance["counts"]
    assert tuple(counts[name] for name in ("stays", "diagnoses", "procedures")) == NHDS_SIZES[100]
    assert (counts["stays_read"], counts["stays_with_both_kinds"], counts["rejected"]) == (
        121_241,
        74_908,
        {},
    )
    rows = pq.read_table(spec.at(tmp_path), columns=["diagnoses", "procedures"]).to_pylist()
    assert [(bare(row["diagnoses"]), bare(row["procedures"])) for row in rows] == by_count[100]


def bare(codes: list[str]) -> set[str]:
    return {code.partition(":")[2] for code in codes}


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    places = {"--experiment": "e.toml", "--out": "out", "--cohorts": "cohorts", "--data": "absent"}
    options = [word for name, place in places.items() for word in (name, str(folder / place))]
    command = [sys.executable, str(SCRIPT), *options, "--jobs", "2"]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)


def test_one_command_makes_everything_and_goes_on_where_it_stopped(
    script: ModuleType, tmp_path: Path
) -> None:
    """With a cohort that is there already and smaller than a preset: other tests let the script make one."""
    path = tmp_path / "cohorts" / "syn.parquet"
    path.parent.mkdir()
    synthesize(path, SyntheticConfig(stays=600))
    data = fingerprint(Cohort.load(path))
    (tmp_path / "e.toml").write_text(
        f"""
name = "tiny"
[benchmark]
methods = ["popularity", "cooccurrence"]
folds = 2
[compare]
against = "cooccurrence"
[[cohort]]
name = "syn"
group = "synthetic"
preset = "small"
data = "{data}"
run_folds = {{ cooccurrence = 1 }}
[[cohort]]
name = "survey"
group = "real"
file = "nhds.txt"
data = "{"0" * 64}"
"""
    )
    done = run(tmp_path)
    assert done.returncode == 1
    assert "survey was left out" in done.stderr
    assert "nhds.txt is absent" in done.stderr
    assert "Traceback" not in done.stderr
    out = tmp_path / "out"
    runs = pq.read_table(out / "synthetic" / "runs.parquet", columns=["cohort", "method", "fold"]).to_pylist()
    assert [tuple(run.values()) for run in runs] == [
        ("syn", "cooccurrence", 0),
        ("syn", "popularity", 0),
        ("syn", "popularity", 1),
    ]
    names = {
        "results.md",
        "results.tex",
        "results.html",
        "results.png",
        "runs.parquet",
        "hits.parquet",
        "comparisons.md",
    }
    assert {path.name for path in (out / "synthetic").iterdir()} == names
    kept = json.loads((out / "cohorts" / "cohorts.json").read_text())
    assert kept["syn"]["summary"]["stays"] == kept["syn"]["attainable"]["stays"] * 5 == 600
    assert (out / "cohorts" / "synthetic.png").read_bytes().startswith(b"\x89PNG")

    before = {path: path.read_bytes() for path in out.rglob("*.md")}
    assert any(path.name == "comparisons.md" for path in before)
    for path in before:
        path.unlink()
    script.results(experiment=tmp_path / "e.toml", out=out, tables_only=True)
    assert {path: path.read_bytes() for path in out.rglob("*.md")} == before


def test_a_cohort_of_other_stays_is_refused(
    tmp_path: Path, script: ModuleType, experiment: Experiment
) -> None:
    [spec] = [spec for spec in experiment.cohorts if spec.preset == "small"]
    synthesize(spec.at(tmp_path), PRESETS["small"], seed=1)
    with pytest.raises(script.InputError, match="does not hold the stays"):
        script.make_cohort(spec, tmp_path, tmp_path)
