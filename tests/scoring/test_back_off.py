"""Codes a model has not seen: who stands in, by which mean, in every method, and what is said of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from dx2px.answers import Model
from dx2px.ragged import Ragged
from dx2px.scoring.back_off import BackOff
from dx2px.scoring.folder import ModelFiles
from dx2px.scoring.methods import METHODS

DIAGNOSES = (
    "icd10cm:I500",
    "icd9cm:25000",
    "icd9cm:25001",
    "icd9cm:25040",
    "icd9cm:2720",
    "icd9cm:4280",
    "icd9cm:V4581",
)
COUNTS = (5, 30, 10, 20, 7, 9, 0)
PROCEDURES = ("icd9pcs:3722", "icd9pcs:3995", "icd9pcs:9904")
LENGTHS = {"diagnosis": len(DIAGNOSES), "procedure": len(PROCEDURES)}


def drawn(method: str, seed: int = 0) -> ModelFiles:
    """A model of any method with arrays of any numbers."""
    rng = np.random.default_rng(seed)
    shapes = {
        name: tuple(LENGTHS.get(axis, 4) for axis in axes) for name, axes in METHODS[method].arrays.items()
    }
    arrays = {name: np.asarray(rng.normal(size=shape), np.float32) for name, shape in shapes.items()}
    if "seen" in arrays:
        arrays |= {"seen": np.array(COUNTS, np.float32).clip(max=1), "popularity": np.ones(3, np.float32)}
    if "sigma" in arrays:
        arrays["sigma"] = np.array(0.5, np.float32)
    return ModelFiles(
        method=method,
        settings={},
        diagnoses=DIAGNOSES,
        procedures=PROCEDURES,
        arrays=arrays,
        history=pa.table({"epoch": [1]}),
        card="# Drawn\n",
        diagnosis_counts=COUNTS,
        procedure_counts=(1, 1, 1),
    )


@pytest.mark.parametrize(
    ("code", "heading", "members"),
    [
        ("icd9cm:25002", "icd9cm:2500", (1, 2)),  # same subcategory
        ("icd9cm:25090", "icd9cm:250", (1, 2, 3)),  # same category
        ("icd9cm:250", "icd9cm:250", (1, 2, 3)),  # a heading: the codes under it
        ("icd9cm:2449", "icd9cm:@240-279", (1, 2, 3, 4)),  # same chapter
        ("icd9cm:42800", "icd9cm:4280", (5,)),  # a finer code than the known one
        ("icd10cm:I509", "icd10cm:I50", (0,)),
        ("icd9cm:V4582", None, ()),  # its only sibling was never learned
        ("icd9cm:5990", None, ()),  # nothing in the chapter
        ("icd10cm:E119", None, ()),  # another system's diabetes is no sibling
        ("hello", None, ()),
    ],
)
def test_who_stands_in(code: str, heading: str | None, members: tuple[int, ...]) -> None:
    found = BackOff(drawn("linear")).siblings(code)
    assert (found and found.heading) == heading
    assert (found.members if found else ()) == members


def test_without_counts_all_weigh_the_same() -> None:
    plain = BackOff(replace(drawn("linear"), diagnosis_counts=None))
    rows = plain.rows(["a"], [(1, 2, 3)])
    assert rows.arrays["W"][0] == pytest.approx(plain.files.arrays["W"][1:4].mean(axis=0), abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_the_mean_of_siblings_is_weighted_by_training_stays(method: str) -> None:
    files = drawn(method)
    made = BackOff(files).extended(["icd9cm:25090", "icd9cm:4280", "icd9cm:5990"])
    assert made.diagnoses == (*DIAGNOSES, "icd9cm:25090")  # known and hopeless codes add nothing
    for name, axes in METHODS[method].arrays.items():
        if "diagnosis" in axes:
            old = files.arrays[name]
            mean = (30 * old[1].astype(float) + 10 * old[2] + 20 * old[3]) / 60
            assert made.arrays[name].dtype == np.float32
            assert np.array_equal(made.arrays[name][:-1], old)
            assert made.arrays[name][-1] == pytest.approx(mean, abs=1e-6)
        else:
            assert made.arrays[name] is files.arrays[name]


@pytest.mark.parametrize("method", METHODS)
def test_a_question_and_an_extended_model_give_one_answer(method: str) -> None:
    """The two routes: a scorer of the stay's rows alone, and a model with the new code in its vocabulary."""
    model = Model(drawn(method))
    asked = model.recommend(["4280", "250.90", "250.00"], top=3)
    wide = model.extended(["icd9cm:25090"])
    other = wide.recommend(["4280", "250.90", "250.00"], top=3)
    assert [d.status for d in asked.diagnoses] == ["known", "backed-off", "known"]
    assert [d.status for d in other.diagnoses] == ["known"] * 3
    for mine, its in zip(asked.recommendations, other.recommendations, strict=True):
        assert mine.code == its.code
        shares = [{reason.code: reason.share for reason in one.because} for one in (mine, its)]
        assert shares[0] == pytest.approx(shares[1], abs=1e-4)
    weights = [[d.significance for d in one.diagnoses] for one in (asked, other)]
    assert weights[0] == pytest.approx(weights[1], abs=1e-5)
    assert sum(weights[0]) == pytest.approx(1)


@pytest.mark.parametrize("method", METHODS)
def test_one_sibling_stands_in_as_itself(method: str) -> None:
    model = Model(drawn(method))
    scores = model.back_off.rows(["x"], [(5,)]).scorer().scores(Ragged.from_lists([[0]]))
    assert scores == pytest.approx(model.scorer.scores(Ragged.from_lists([[5]])), abs=1e-5)


def test_the_answer_says_what_stood_in() -> None:
    told = Model(drawn("mlp")).recommend(["250.90", "599.0", "428.0"]).to_dict()["diagnoses"]
    assert told[0]["status"] == "backed-off"
    assert told[0]["stand_in"] == {"code": "icd9cm:250", "title": "Diabetes mellitus", "codes": 3}
    assert told[0]["significance"] > 0
    assert (told[1]["status"], told[1]["significance"]) == ("unknown", 0.0)
    assert "stand_in" not in told[1]
    assert "stand_in" not in told[2]


def test_a_code_of_the_vocabulary_that_nobody_had_is_backed_off_where_it_can_be() -> None:
    files = drawn("e+pooling")
    lonely = Model(files).recommend(["V45.81", "428.0"]).diagnoses[0]
    assert (lonely.status, lonely.stand_in) == ("known", None)
    never = Model(replace(files, diagnosis_counts=(5, 30, 0, 20, 7, 9, 1))).recommend(["250.01"]).diagnoses[0]
    assert never.status == "backed-off"
    assert never.stand_in is not None
    assert (never.stand_in.code, never.stand_in.codes) == ("icd9cm:2500", 1)


def test_new_codes_alone_are_answered() -> None:
    answer = Model(drawn("e+sa+ma")).recommend(["250.90"])
    assert [d.significance for d in answer.diagnoses] == [1.0]
    assert answer.recommendations[0].because[0].code == "icd9cm:25090"


def test_the_plan_has_a_row_for_a_backed_off_diagnosis() -> None:
    explained = Model(drawn("e+sa+ma")).explain(["428.0", "599.0", "250.90"], ["37.22", "39.95"])
    told = explained.to_dict()
    assert told["plan"]["diagnoses"] == ["icd9cm:4280", "icd9cm:25090"]
    mass = np.array(told["plan"]["mass"])
    mu = [d.significance for d in explained.diagnoses if d.status != "unknown"]
    np.testing.assert_allclose(mass.sum(axis=1), mu, atol=1e-3)


def test_an_explanation_with_a_stand_in_is_drawn_with_its_row() -> None:
    from dx2px.report.explanation import explanation_figure

    figure = explanation_figure(Model(drawn("e+sa+ma")).explain(["428.0", "599.0", "250.90"]))
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert [text for text in texts if text in ("428.0", "599.0", "250.90")] == ["428.0", "250.90"]
    assert any(text.startswith("new to the model: mean of its 3 codes under 250") for text in texts)
    assert any("does not know these diagnoses" in text and "599.0" in text for text in texts)
