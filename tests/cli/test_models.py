"""Train, evaluate, recommend, explain, neighbors, export, as a user runs them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import dx2px
from dx2px.cohort import Cohort, split_cohort
from dx2px.scoring.folder import read_folder, write_folder

SMALL = ["--method", "e+sa+ma", "--dim", "16", "--heads", "2", "--epochs", "2", "--lr", "0.01"]
# Weights are compared byte by byte, whatever an earlier command in this process has set.
SMALL += ["--threads", "1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a cohort of 800 synthetic stays and a small model of it."""
    path = tmp_path_factory.mktemp("models")
    assert dx2px("synthesize", "--stays", "800", "--out", path / "C.parquet").returncode == 0
    done = dx2px("train", path / "C.parquet", "--out", path / "model", *SMALL)
    assert done.returncode == 0, done.stderr
    assert "top 10" in done.stdout
    assert "epoch 2/2" in done.stderr
    return path


def test_train_leaves_folder_checkpoint_and_curves(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} >= {"model", "model.checkpoint", "model.curves.png"}


def test_evaluate_gives_the_contract(folder: Path) -> None:
    found = json.loads(dx2px("evaluate", folder / "model", folder / "C.parquet", "--json").stdout)
    assert found["part"] == "test"
    assert found["evidence"] == "codes"
    assert found["stays"] == pytest.approx(160, abs=8)
    assert list(found["top"]) == ["1", "3", "5", "10"]
    assert set(found["top"]["5"]) == {"recall", "precision", "f1"}
    assert set(found["calibration"]) == {"stays", "all", "top10", "coverage", "procedures"}
    assert found["log_loss"] == found["calibration"]["procedures"]["log_loss"] > 0
    everyone = json.loads(
        dx2px("evaluate", folder / "model", folder / "C.parquet", "--on", "all", "--json").stdout
    )
    assert everyone["stays"] == 800


def test_evaluate_says_which_evidence_it_used(folder: Path, tmp_path: Path) -> None:
    """Age and sex of synthetic stays are known."""
    model = tmp_path / "coupling"
    assert dx2px("train", folder / "C.parquet", "--out", model, "--dim", "8", "--epochs", "1").returncode == 0
    found = {
        name: json.loads(dx2px("evaluate", model, folder / "C.parquet", "--evidence", name, "--json").stdout)
        for name in ("stay", "codes")
    }
    assert {name: one["evidence"] for name, one in found.items()} == {"stay": "stay", "codes": "codes"}
    measured = read_folder(model).measured
    assert measured is not None
    assert found["stay"]["top"] == measured["top"]
    assert found["codes"]["top"] == measured["codes"]


def test_another_cohort_is_projected(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "M.parquet"
    dx2px("synthesize", "--preset", "medium", "--stays", "300", "--out", other)
    found = json.loads(dx2px("evaluate", folder / "model", other, "--json").stdout)
    counts = found["projection"]
    assert found["part"] == "all"
    assert counts["stays_kept"] == found["stays"]
    assert counts["diagnoses"]["codes_set_aside"] > 0
    shown = dx2px("evaluate", folder / "model", other)
    for kind, why in (
        ("diagnoses", "the model does not know (--back-off lets"),
        ("procedures", "it cannot name"),
    ):
        aside = counts[kind]
        left_out = f"Left out: {aside['codes_set_aside']:,} of {aside['codes']:,} distinct {kind}"
        assert left_out in shown.stderr
        assert why in shown.stderr
    lost = aside["entries_set_aside"] / aside["entries"]  # no relative helps a procedure that is to be found
    assert re.search(rf"procedures \({aside['entries']:,}\) +{1 - lost:.1%} +– +{lost:.1%}", shown.stdout)
    refused = dx2px("evaluate", folder / "model", other, "--on", "test")
    assert refused.returncode == 1
    assert "did not learn from this cohort" in refused.stderr


def test_a_cohort_of_the_other_version_is_read_in_the_model_s_codes(tmp_path: Path) -> None:
    """Three stays in ICD-10, beside the same as the model would have them; septic shock is two diagnoses there."""
    tenth, ninth = (tmp_path / f"{name}.parquet" for name in ("tenth", "ninth"))
    Cohort.from_lists(
        [["icd10cm:N186", "icd10cm:Z3A39"], ["icd10cm:A419", "icd10cm:R6521"], ["icd10cm:N186"]],
        [["icd10pcs:5A1D70Z", "icd10pcs:5A1D80Z"], ["icd10pcs:5A1955Z"], ["icd10pcs:00K00ZZ"]],
        principal=["icd10cm:N186", "icd10cm:R6521", None],
    ).save(tenth)
    Cohort.from_lists(
        [["icd9cm:5856"], ["icd9cm:0389", "icd9cm:78552", "icd9cm:99592"]],
        [["icd10pcs:5A1D"], ["icd10pcs:5A1955Z"]],
        principal=["icd9cm:5856", "icd9cm:78552"],
    ).save(ninth)
    found, same = (
        json.loads(dx2px("evaluate", "nhds2010-icd10", one, "--json").stdout) for one in (tenth, ninth)
    )
    assert (found["top"], found["log_loss"]) == (same["top"], same["log_loss"])
    assert (found["mapping"], found["in_families"]) == ({"exact": 2, "no-map": 1, "approximate": 2}, 2)
    assert found["projection"]["stays_kept"] == 2
    assert found["travel"]["diagnoses"]["lost"] == pytest.approx(1 / 6)
    assert "mapping" not in same
    assert "Lost: 1" in dx2px("evaluate", "nhds2010-icd10", tenth).stderr
    refused = dx2px("evaluate", "nhds2010-icd10", tenth, "--no-map")
    assert refused.returncode == 1
    assert "leave out --no-map" in refused.stderr


def test_one_diagnosis_in_two_versions_is_said_to_be_one() -> None:
    said = dx2px("recommend", "N18.6", "585.6", "--answer-in", "icd10pcs").stderr
    assert "N18.6 (ICD-10-CM) and 585.6 (ICD-9-CM) are the same diagnosis here." in said
    assert "5A1D: choose one of 3 codes, by duration: " in said
    assert "same diagnosis" not in dx2px("recommend", "N18.6").stderr


def test_procedures_that_count_as_one_family_are_named() -> None:
    words = "explain", "M17.11", "--answer-in", "icd10pcs"
    said = dx2px(*words, "--procedures", "0SRC0J9,0SRD0J9,5A1D").stderr
    assert "0SRC0J9 and 0SRD0J9 count as 0SR[CDTUVW]." in said
    assert "0SR[CDTUVW]: choose" not in said
    assert "5A1D: choose one of 3 codes" in said
    assert "0SRC0J9 counts as 0SR[CDTUVW]." in dx2px(*words, "--coded", "0SRC0J9").stderr


def test_recommend_gives_the_contract(folder: Path) -> None:
    done = dx2px(
        "recommend", "--model", folder / "model", "585.6,427.5", "4280", "nonsense", "--top", "3", "--json"
    )
    found = json.loads(done.stdout)
    assert [d["status"] for d in found["diagnoses"]] == ["known", "known", "known", "unknown"]
    rows = [*found["diagnoses"], *found.get("evidence", [])]
    assert sum(row["significance"] for row in rows) == pytest.approx(1, abs=1e-5)
    assert [r["rank"] for r in found["recommendations"]] == [1, 2, 3]
    for one in found["recommendations"]:
        assert set(one) == {"rank", "code", "title", "probability", "because", "rests_on"}
        assert sum(reason["share"] for reason in one["because"]) == pytest.approx(1, abs=1e-4)
    text = dx2px("recommend", "--model", folder / "model", "585.6")
    assert "End stage renal disease" in text.stdout
    assert "not medical advice" in text.stderr


def test_a_method_without_vectors_goes_the_same_way(folder: Path, tmp_path: Path) -> None:
    """It recommends, its reasons being the falls of its score; it cannot be exported."""
    model = tmp_path / "counts"
    made = dx2px("train", folder / "C.parquet", "--method", "cooccurrence", "--out", model)
    assert made.returncode == 0, made.stderr
    assert json.loads(dx2px("evaluate", model, folder / "C.parquet", "--json").stdout)["part"] == "test"
    found = json.loads(dx2px("recommend", "--model", model, "585.6", "427.5", "--json").stdout)
    first = found["recommendations"][0]
    assert 0 < first["probability"] < 1
    assert sum(reason["share"] for reason in first["because"]) == pytest.approx(1)
    refused = dx2px("export", "--model", model, "--out", tmp_path / "v.txt")
    assert refused.returncode == 1
    assert "have no vectors of codes" in refused.stderr
    options = dx2px(
        "train", folder / "C.parquet", "--method", "linear", "--dim", "3", "--out", model, "--overwrite"
    )
    assert "--dim has no effect on the method linear: leave it out." in options.stderr


def test_a_set_a_stand_in_and_a_mapping_are_said(folder: Path) -> None:
    asked = ["N18.6", "428.99", "Z3A.39", "--map", "--coverage", "0.9"]
    done = dx2px("recommend", "--model", folder / "model", *asked)
    assert done.returncode == 0, done.stderr
    assert "Mapped N18.6 (ICD-10-CM) → 585.6 (ICD-9-CM), exact." in done.stderr
    assert "1 of 2 codes could not be mapped: Z3A.39 (ICD-10-CM)." in done.stderr
    assert "428.99 (ICD-9-CM) is new to the model, which used the mean of its" in done.stderr
    assert "1 of 3 diagnoses is unknown to the model and not used: Z3A.39 (ICD-10-CM)." in done.stderr
    assert "The set holds 90% of a stay's coded procedures" in done.stderr
    told = json.loads(dx2px("recommend", "--model", folder / "model", *asked, "--json").stdout)
    assert [d["status"] for d in told["diagnoses"]] == ["known", "backed-off", "unknown"]
    assert told["coverage"]["target"] == 0.9
    assert told["coverage"]["set_size"] == len(told["recommendations"])
    assert [one["kind"] for one in told["mapping"]] == ["exact", "no-map"]
    both = dx2px("recommend", "--model", folder / "model", "585.6", "--top", "3", "--coverage", "0.9")
    assert both.returncode == 1
    assert "--top or --coverage, not both" in both.stderr


def test_evaluate_draws_the_reliability_and_lets_siblings_stand_in(folder: Path, tmp_path: Path) -> None:
    plot = tmp_path / "r.png"
    done = dx2px("evaluate", folder / "model", folder / "C.parquet", "--plot", plot)
    assert "expected error" in done.stdout
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert dx2px("evaluate", folder / "model", folder / "C.parquet", "--plot", "r.gif").returncode == 1
    other = tmp_path / "M.parquet"
    dx2px("synthesize", "--preset", "medium", "--stays", "300", "--out", other)
    plain, backed = (
        json.loads(dx2px("evaluate", folder / "model", other, "--json", *more).stdout)
        for more in ([], ["--back-off"])
    )
    assert backed["backed_off"] > 0
    aside = [found["projection"]["diagnoses"]["codes_set_aside"] for found in (plain, backed)]
    assert aside[0] - aside[1] == backed["backed_off"]


def test_explain_writes_json_and_figures(folder: Path, tmp_path: Path) -> None:
    codes = ["585.6", "427.5", "51881"]
    for name in ("e.json", "e.png", "e.svg"):
        done = dx2px("explain", "--model", folder / "model", *codes, "--out", tmp_path / name)
        assert done.returncode == 0, done.stderr
    plan = json.loads((tmp_path / "e.json").read_text())["plan"]
    mass = np.array(plan["mass"])
    assert mass.shape == (3, 5)
    assert mass.sum() == pytest.approx(1, abs=1e-4)
    assert (tmp_path / "e.png").read_bytes().startswith(b"\x89PNG")
    table = dx2px("explain", "--model", folder / "model", *codes, "--procedures", "39.95,96.04")
    assert "Hemodialysis" in table.stdout
    assert dx2px("explain", "--model", folder / "model", *codes, "--out", "e.gif").returncode == 1


def test_neighbors_and_export(folder: Path, tmp_path: Path) -> None:
    near = json.loads(dx2px("neighbors", "--model", folder / "model", "585.6", "--top", "4", "--json").stdout)
    assert len(near["diagnoses"]) == len(near["procedures"]) == 4
    assert near["title"] == "End stage renal disease"
    assert dx2px("export", "--model", folder / "model", "--out", tmp_path / "v.txt").returncode == 0
    head, first, *_ = (tmp_path / "v.txt").read_text().splitlines()
    assert head.split()[1] == "16"
    assert len(first.split()) == 17
    assert dx2px("export", "--model", folder / "model", "--out", tmp_path / "v.npz").returncode == 0
    assert (tmp_path / "v.npz").read_bytes().startswith(b"PK")
    for kind, start in (("parquet", b"PAR1"), ("npz", b"PK")):
        assert (
            dx2px("export", "--model", folder / "model", "--out", tmp_path / "v", "--format", kind).returncode
            == 0
        )
        assert (tmp_path / "v").read_bytes().startswith(start)


def test_a_file_is_what_its_name_says(ask: Callable[..., Any], folder: Path, tmp_path: Path) -> None:
    cohort = folder / "C.parquet"
    for words, sentence in (
        (["export", "--out", "v.bin"], "v.bin: end it in .parquet, .pq, .npz, .txt, .vec"),
        (
            ["export", "--out", "v.npz", "--format", "word2vec"],
            "has the ending of npz, but the format asked for is word2vec",
        ),
        (
            ["score", cohort, "--out", "x.csv"],
            "which ends in .parquet or .pq, not 'x.csv': name it x.parquet",
        ),
        (["synthesize", "--out", "c.csv"], "which ends in .parquet or .pq, not 'c.csv'"),
        (["prepare", "nhds", "absent.txt", "--out", "c.json"], "not 'c.json': name it c.parquet"),
    ):
        done = ask(*words)
        assert (done.returncode, done.stdout) == (1, "")
        assert sentence in done.stderr
    assert not Path("x.csv").exists()


def test_a_model_is_not_replaced_by_accident(ask: Callable[..., Any], folder: Path) -> None:
    before = (folder / "model" / "weights.safetensors").read_bytes()
    done = ask("train", folder / "C.parquet", "--out", folder / "model", *SMALL)
    assert done.returncode == 1
    assert "holds a model already: name another folder, or replace it with --overwrite" in done.stderr
    assert (folder / "model" / "weights.safetensors").read_bytes() == before


@pytest.mark.parametrize(
    "words",
    [
        ["prepare", "nhds", "{folder}/C.parquet", "--out"],
        ["synthesize", "--out"],
        ["describe", "{folder}/C.parquet", "--plot"],
        ["train", "{folder}/C.parquet", "--out"],
        ["evaluate", "nhds2010", "{folder}/C.parquet", "--plot"],
        ["benchmark", "{folder}/C.parquet", "--out"],
        ["sweep", "{folder}/C.parquet", "--over", "dim", "--out"],
        ["faithfulness", "nhds2010", "{folder}/C.parquet", "--out"],
        ["explain", "585.6", "--out"],
        ["export", "--out"],
        ["score", "{folder}/C.parquet", "--out"],
        ["audit", "{folder}/C.parquet", "--out"],
        ["report", "nhds2010", "{folder}/C.parquet", "--out"],
        ["demo", "--out"],
    ],
    ids=lambda words: words[0],
)
def test_a_place_that_cannot_be_written_is_said_before_the_work(
    ask: Callable[..., Any], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """Tests may run as root, whom permissions do not bind, so the system itself says no."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise PermissionError

    monkeypatch.setattr("dx2px.storage.tempfile.TemporaryFile", refuse)
    endings = {"describe": "x.png", "evaluate": "x.png", "explain": "x.png", "report": "x.html"}
    out = tmp_path / "no" / endings.get(words[0], "x.parquet")
    done = ask(*(word.format(folder=folder) for word in words), out)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"No permission to write in {tmp_path}." in done.stderr
    assert not out.parent.exists()


def test_training_options_reach_the_model(folder: Path, tmp_path: Path) -> None:
    words = [
        "--alpha",
        "1",
        "--procedure-penalty",
        "0.5",
        "--split-by",
        "stay",
        "--folds",
        "5",
        "--fold",
        "3",
    ]
    words += ["--patience", "4", "--keep", "best", "--device", "cpu", "--half"]
    done = dx2px("train", folder / "C.parquet", "--out", tmp_path / "m", *SMALL, *words)
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "m" / "config.json").read_text())
    settings = record["settings"]
    assert settings["model"]["alpha"] == 1
    assert settings["transport"]["procedure_penalty"] == 0.5
    assert settings["split"] == {"by": "stay", "fold": 3, "folds": 5, "seed": 0}
    assert (settings["patience"], settings["keep"]) == (4, "best")
    assert {array["dtype"] for array in record["arrays"].values()} == {"float16"}


def test_tune_chooses_on_validation_keeps_its_trials_and_says_so(
    ask: Callable[..., Any], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search of two trials, of which a run that goes on repeats none."""
    for name, values in {
        "RATES": (0.001, 0.03),
        "STARTS": (0.1,),
        "LOWER_STARTS": (0.1,),
        "EPOCHS": 6,
    }.items():
        monkeypatch.setattr(f"dx2px.methods.tuning.{name}", values)
    words = [
        "train",
        folder / "C.parquet",
        "--method",
        "e+pooling",
        "--dim",
        "16",
        "--threads",
        "1",
        "--tune",
    ]
    words += ["--out", tmp_path / "m"]
    first = ask(*words)
    assert first.returncode == 0, first.stderr
    tried = json.loads((tmp_path / "m.tuning.json").read_text())["tried"]
    assert [one["trial"]["lr"] for one in tried] == [0.001, 0.03]
    assert tried[1]["f1"] > tried[0]["f1"]
    settings = json.loads((tmp_path / "m" / "config.json").read_text())["settings"]
    assert (settings["adam"]["lr"], settings["init"]["scale"], settings["kept"]) == (0.03, 0.1, "best")
    card = (tmp_path / "m" / "MODEL_CARD.md").read_text()
    assert (
        "chosen by the mean of F1@1, 3, 5 and 10 on the validation stays: learning rate 0.03, start 0.1"
        in card
    )
    monkeypatch.setattr("dx2px.cli.tuning._f1", None)  # nothing is tried again
    held = {
        file: file.stat().st_mtime_ns for file in [*(tmp_path / "m").iterdir(), tmp_path / "m.curves.png"]
    }
    again = ask(*words, "--resume")
    assert again.returncode == 0, again.stderr
    assert "Chosen on validation: learning rate 0.03, start 0.1." in again.stderr
    assert "This run had ended: its model is in" in again.stderr
    assert again.stdout == first.stdout
    assert {file: file.stat().st_mtime_ns for file in held} == held  # the model is not written again
    for options, sentence in (
        (["--lr", "1"], "--lr has no effect on --tune, which chooses on validation"),
        (["--method", "coupling"], "coupling has nothing to tune"),
    ):
        refused = ask(*words, "--overwrite", *options)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert sentence in refused.stderr
    # A method without checkpoints keeps its trials too, but does not pass for the run whose model is there.
    other = ask(*words, "--method", "word2vec", "--resume")
    assert (other.returncode, other.stdout) == (1, "")
    assert "holds a model already" in other.stderr
    monkeypatch.setattr("dx2px.cli.tuning._f1", lambda *_: 1.0)
    fresh = ask(*words, "--method", "word2vec", "--out", tmp_path / "w", "--resume")
    assert fresh.returncode == 0, fresh.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["recommend", "--model", "absent", "4280"], "there is no such folder"),
        (["evaluate", "absent", "absent.parquet"], "there is no such folder"),
        (["train", "absent.parquet", "--out", "model"], "There is no cohort file"),
        (
            ["train", "{folder}/C.parquet", "--out", "{folder}/m", "--epochs", "0"],
            "epochs must be at least 1",
        ),
        (["train", "{folder}/C.parquet", "--out", "{folder}/m", "--folds", "1"], "folds must be at least 2"),
        (
            ["train", "{folder}/C.parquet", "--out", "{folder}/m", "--alpha", "1"],
            "--alpha has no effect on the method coupling",
        ),
        (
            ["train", "{folder}/C.parquet", "--out", "{folder}/m", "--method", "e+ma", "--heads", "2"],
            "--heads has no effect on the method e+ma",
        ),
        (
            ["train", "{folder}/C.parquet", "--out", "{folder}/m", "--method", "e+ma", "--entropy", "1"],
            "--entropy has no effect on a transport that meets both marginals exactly",
        ),
        (
            ["train", "{folder}/C.parquet", "--out", "{folder}/m", "--patience", "1", "--keep", "last"],
            "--keep has no effect on training with --patience",
        ),
        (["train", "{folder}/C.parquet", "--out", "{folder}/m", "--threads", "99999"], "this machine has"),
        (["export", "--out", "{folder}"], "is a folder: name a file"),
        (["explain", "4280", "--out", "why.txt"], ".html, .json; why.txt has another ending"),
    ],
)
def test_wrong_input_gives_one_sentence(
    folder: Path, words: list[str], sentence: str, ask: Callable[..., Any]
) -> None:
    done = ask(*(word.format(folder=folder) for word in words))
    assert done.returncode == 1
    assert sentence in done.stderr


def test_an_order_that_is_not_that_of_the_probabilities_is_explained(ask: Callable[..., Any]) -> None:
    for words, crossed in ((["585.6", "427.5"], True), (["540.9"], False)):
        found = json.loads(ask("recommend", *words, "--json").stdout)["recommendations"]
        likely = [one["probability"] for one in found]
        assert (likely != sorted(likely, reverse=True)) == crossed
        assert ("Ranked by score." in ask("recommend", *words).stderr) == crossed


def test_a_method_that_does_not_exist_is_wrong_usage(folder: Path, ask: Callable[..., Any]) -> None:
    done = ask("train", folder / "C.parquet", "--out", folder / "m", "--method", "nonsense")
    assert done.returncode == 2
    assert "there is no method 'nonsense'; choose from popularity, " in " ".join(done.stderr.split())


def test_people_see_dotted_codes_and_files_keep_canonical_ones(ask: Callable[..., Any]) -> None:
    shown = ask("recommend", "585.6", "427.5", "--top", "3")
    assert "ICD-9-CM" in shown.stdout
    assert "39.95" in shown.stdout
    assert "icd9" not in shown.stdout + shown.stderr
    plan = ask("explain", "585.6", "427.5")
    assert "icd9" not in plan.stdout + plan.stderr
    near = ask("neighbors", "585.6", "--top", "2")
    assert "Nearest diagnoses to 585.6 End stage renal disease" in near.stdout
    assert "icd9" not in near.stdout
    assert '"icd9pcs:3995"' in ask("recommend", "585.6", "427.5", "--json").stdout


def test_codes_of_two_systems_in_one_table_are_marked(ask: Callable[..., Any]) -> None:
    shown = ask("recommend", "585.6", "Z3A.39", "nonsense")
    assert "585.6 (ICD-9-CM)" in shown.stdout
    assert "Z3A.39 (ICD-10-CM)" in shown.stdout
    assert (
        "2 of 3 diagnoses are unknown to the model and not used: Z3A.39 (ICD-10-CM), nonsense."
        in shown.stderr
    )


def test_another_version_of_icd_is_translated_unless_it_is_refused(ask: Callable[..., Any]) -> None:
    shown = ask("recommend", "O34.211", "N18.6", "--json")
    found = {one["from"]: (one["to"], one["kind"]) for one in json.loads(shown.stdout)["mapping"]}
    assert found["icd10cm:N186"] == (["icd9cm:5856"], "exact")
    assert found["icd10cm:O34211"][1] == "parent"
    refused = ask("recommend", "N18.6", "--no-map")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("dx2px: N18.6: the model knows ICD-9-CM diagnoses")


def test_a_model_of_the_package_is_measured_by_its_name(folder: Path) -> None:
    found = json.loads(dx2px("evaluate", "nhds2010", folder / "C.parquet", "--json").stdout)
    assert found["part"] == "all"


def test_unknown_codes_alone_are_said(folder: Path) -> None:
    done = dx2px("recommend", "--model", folder / "model", "nonsense", "Z3A.39")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_train_refuses_a_folder_of_other_things_before_it_works(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    done = dx2px("train", folder / "C.parquet", "--out", tmp_path)
    assert done.returncode == 1
    assert "epoch" not in done.stderr
    assert (tmp_path / "letter.txt").read_text() == "dear"


def test_recommend_needs_neither_torch_nor_numba(folder: Path) -> None:
    code = (
        "import sys; sys.argv = ['dx2px', 'recommend', '--model', sys.argv[1], '585.6']\n"
        "from dx2px.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print('loaded', sorted({'torch', 'numba', 'ibis', 'pandas', 'matplotlib'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, str(folder / "model")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip().splitlines()[-1] == "loaded []"


def test_interrupted_training_ends_cleanly_and_resumes_to_the_same_weights(
    folder: Path, tmp_path: Path
) -> None:
    words = [*SMALL, "--epochs", "30"]
    out = tmp_path / "model"
    command = [sys.executable, "-m", "dx2px", "train", str(folder / "C.parquet"), "--out", str(out), *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as started:
        assert started.stderr is not None
        while "epoch 3/" not in started.stderr.readline():
            assert started.poll() is None
        os.kill(started.pid, signal.SIGINT)
        rest = started.stderr.read()
        assert started.wait(timeout=60) == 130
    assert "--resume continues" in rest
    assert not out.exists()
    resumed = dx2px("train", folder / "C.parquet", "--out", out, *words, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    dx2px("train", folder / "C.parquet", "--out", tmp_path / "undisturbed", *words)
    weights = [(tmp_path / name / "weights.safetensors").read_bytes() for name in ("model", "undisturbed")]
    assert weights[0] == weights[1]


def test_resume_without_a_checkpoint_starts_from_the_beginning_and_says_so(
    folder: Path, tmp_path: Path
) -> None:
    done = dx2px("train", folder / "C.parquet", "--out", tmp_path / "model", *SMALL, "--resume")
    assert done.returncode == 0, done.stderr
    assert "There is no checkpoint" in done.stderr
    dx2px("train", folder / "C.parquet", "--out", tmp_path / "plain", *SMALL)
    weights = [(tmp_path / name / "weights.safetensors").read_bytes() for name in ("model", "plain")]
    assert weights[0] == weights[1]


def test_sigterm_ends_with_143_and_leaves_no_draft(folder: Path, tmp_path: Path) -> None:
    words = [*SMALL, "--epochs", "60", "--save-every", "0"]
    command = [
        sys.executable,
        "-m",
        "dx2px",
        "train",
        str(folder / "C.parquet"),
        "--out",
        str(tmp_path / "m"),
    ]
    with subprocess.Popen([*command, *words], stderr=subprocess.PIPE, text=True) as started:
        assert started.stderr is not None
        while "epoch 2/" not in started.stderr.readline():
            assert started.poll() is None
        started.terminate()
        assert "Traceback" not in started.stderr.read()
        assert started.wait(timeout=60) == 143
    assert [path.name for path in tmp_path.iterdir()] == ["m.checkpoint"]


@pytest.mark.parametrize(
    ("settings", "part", "sentence"),
    [
        ({"split": 7}, "train", "which fold"),
        ({"split": {"fold": "x"}}, "train", "which fold"),
        ({"split": {"fold": 99}}, "train", "no fold 99"),
        ({}, "train", "which fold"),
    ],
)
def test_resealed_settings_give_one_sentence(
    folder: Path, tmp_path: Path, settings: dict[str, Any], part: str, sentence: str, ask: Callable[..., Any]
) -> None:
    files = read_folder(folder / "model")
    kept = {name: value for name, value in files.settings.items() if name != "split"}
    write_folder(tmp_path / "model", replace(files, settings=kept | settings))
    for command in (["evaluate"], ["report", "--out", tmp_path / "r.html"]):
        done = ask(*command, tmp_path / "model", folder / "C.parquet", "--on", part)
        assert done.returncode == 1
        assert sentence in done.stderr
    other = split_cohort(Cohort.load(folder / "C.parquet").subset(np.arange(100)), folds=3)
    write_folder(tmp_path / "model", replace(files, split=other.to_bytes()))
    done = ask("evaluate", tmp_path / "model", folder / "C.parquet")
    assert (done.returncode, "split is of 100 stays" in done.stderr) == (1, True)


CORE_ONLY = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "numba", "ibis", "duckdb", "scipy", "sklearn", "matplotlib"}:
            raise ModuleNotFoundError(name=name)
sys.meta_path.insert(0, Absent())
from dx2px.cli import main
main()
"""


def test_a_core_install_measures_and_names_the_extra_for_maps_and_plots(folder: Path, tmp_path: Path) -> None:
    def core(*words: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", CORE_ONLY, *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    both = (folder / "model", folder / "C.parquet")
    assert json.loads(core("evaluate", *both, "--json").stdout)["part"] == "test"
    for words, missing in (
        (("evaluate", *both, "--plot", tmp_path / "p.png"), "matplotlib"),
        (("report", *both, "--out", tmp_path / "r.html"), "sklearn"),
    ):
        done = core(*words)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (
            f"dx2px: This command needs {missing}, which is not installed: pip install 'dx2px[train]'.\n"
        )


def test_the_packages_model_answers_and_is_listed() -> None:
    answer = json.loads(dx2px("recommend", "820.21", "--json").stdout)
    assert answer["recommendations"][0]["code"] == "icd9pcs:7935"
    listed = json.loads(dx2px("models", "--json").stdout)["models"]
    assert [one["name"] for one in listed] == ["nhds2010", "nhds2010-icd10", "nhds2010-paper"]
    assert "medical advice" in listed[0]["card"]
    assert "nhds2010" in dx2px("models").stdout
    assert dx2px("recommend", "--model", "nhds2010", "585.6").returncode == 0


def test_a_recipe_is_the_default_of_what_is_not_given(folder: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text('[train]\ndim = 8\nepochs = 3\nhalf = true\n[card]\nnotes = "Made in a test."\n')
    done = dx2px("train", folder / "C.parquet", "--recipe", recipe, "--epochs", "1", "--out", tmp_path / "m")
    assert done.returncode == 0, done.stderr
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    assert (config["method"], config["settings"]["epochs"], config["settings"]["model"]["dim"]) == (
        "coupling",
        1,
        8,
    )
    assert config["arrays"]["U"]["dtype"] == "float16"
    assert "Made in a test." in (tmp_path / "m" / "MODEL_CARD.md").read_text()
    recipe.write_text('[train]\nmethod = "e+ma"\ndim = 8\nepochs = 1\ndiagnosis_penalty = 0.0\n')
    words = ["--recipe", recipe, "--entropy", "0.2", "--out", tmp_path / "p"]
    penalised = dx2px("train", folder / "C.parquet", *words)
    assert penalised.returncode == 0, penalised.stderr
    transport = json.loads((tmp_path / "p" / "config.json").read_text())["settings"]["transport"]
    assert (transport["diagnosis_penalty"], transport["entropy"]) == (0, 0.2)
    recipe.write_text("[train]\ncolour = 1\n")
    refused = dx2px("train", folder / "C.parquet", "--recipe", recipe, "--out", tmp_path / "n")
    assert refused.returncode == 1
    assert "has no option colour" in refused.stderr
