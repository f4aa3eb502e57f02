"""Questions to a planted model: what is recommended, why, and what is said of codes it does not know."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dx2px.answers import Model
from dx2px.codes import title
from dx2px.errors import CodeError, InputError, ModelError
from dx2px.scoring.folder import write_folder
from dx2px.scoring.head import Head
from synthetic_models import SIGMOID, planted_files


def test_each_diagnosis_brings_its_procedure(model: Model) -> None:
    assert model.recommend(["428.0"]).recommendations[0].code == "icd9pcs:3722"
    assert model.recommend(["250.00"]).recommendations[0].code == "icd9pcs:3995"
    assert [one.code for one in model.recommend(["4280"], top=4).recommendations] == [
        "icd9pcs:3722",
        "icd9pcs:0017",
        "icd9pcs:0389",  # equal scores, by index
        "icd9pcs:3995",
    ]


def test_the_answer_has_the_shape_of_the_contract(model: Model) -> None:
    answer = json.loads(json.dumps(model.recommend(["428.0", "250.00", "V45.81"], top=2).to_dict()))
    assert list(answer) == ["diagnoses", "recommendations"]
    names = ["code", "title", "significance", "status", "stays"]
    assert [list(entry) for entry in answer["diagnoses"]] == [names] * 3
    assert [entry["status"] for entry in answer["diagnoses"]] == ["known", "known", "unknown"]
    for rank, entry in enumerate(answer["recommendations"], start=1):
        assert list(entry) == ["rank", "code", "title", "probability", "because", "rests_on"]
        assert entry["rank"] == rank
        assert 0 < entry["probability"] < 1
        assert entry["title"] == title(entry["code"]).text
        assert {reason["code"] for reason in entry["because"]} == {"icd9cm:4280", "icd9cm:25000"}
        assert sum(reason["share"] for reason in entry["because"]) == pytest.approx(1)


def test_significance_and_probability_are_the_scorers(model: Model) -> None:
    answer = model.recommend(["250.00", "428.0"], top=4)
    assert sum(one.significance for one in answer.diagnoses) == pytest.approx(1)
    mu = {one.code: one.significance for one in answer.diagnoses}
    # 25000 alone points at 3995, with 3·2; 4280 alone at 3722, with 3·2, and at 0017, with 1·2.
    logits = {
        "3995": 6 * mu["icd9cm:25000"],
        "3722": 6 * mu["icd9cm:4280"],
        "0017": 2 * mu["icd9cm:4280"],
        "0389": 0,
    }
    found = {one.code.partition(":")[2]: one.probability for one in answer.recommendations}
    assert found == pytest.approx(
        {code: 1 / (1 + np.exp(-logit)) for code, logit in logits.items()}, abs=1e-6
    )
    assert [one.probability for one in answer.recommendations] == sorted(found.values(), reverse=True)


def test_a_set_of_stated_coverage_is_what_reaches_its_threshold(model: Model) -> None:
    wide, narrow = (model.recommend(["428.0"], coverage=coverage) for coverage in (0.9, 0.5))
    # Logits of 4280: 6 for 3722, 2 for 0017, 0 for the others; the thresholds are 0.6 and 0.9.
    assert [one.code for one in wide.recommendations] == ["icd9pcs:3722", "icd9pcs:0017"]
    assert wide.to_dict()["coverage"] == {"target": 0.9, "set_size": 2, "threshold": 0.6}
    assert [one.code for one in narrow.recommendations] == ["icd9pcs:3722"]
    lone = model.recommend(["icd9cm:E030"], coverage=0.5)  # all at one half: the first alone
    assert [one.code for one in lone.recommendations] == ["icd9pcs:0017"]
    assert "coverage" not in model.recommend(["428.0"]).to_dict()
    with pytest.raises(InputError, match=r"from 0\.5 to 0\.9, not 0\.99"):
        model.recommend(["428.0"], coverage=0.99)


def test_with_a_head_the_set_goes_by_probability_and_is_listed_by_rank() -> None:
    """The head makes 0389, which ranks third, more probable than 0017, which ranks second."""
    shifts = np.array([-2, 3, 0, 0], np.float32)
    nothing = np.zeros((4, 1), np.float32)
    head = Head(np.ones(4, np.float32), shifts, nothing, nothing, 1.0, 0.0)
    model = Model(planted_files("e+pooling", calibration=replace(SIGMOID, head=head)))
    found = model.recommend(["428.0"], coverage=0.9)
    assert [one.code for one in found.recommendations] == ["icd9pcs:3722", "icd9pcs:0389"]
    ranks, chances = zip(*((one.rank, one.probability) for one in found.recommendations), strict=True)
    assert ranks == (1, 3)
    assert found.coverage is not None
    assert min(chances) >= found.coverage.threshold
    assert found.coverage.set_size == 2
    by_rank = model.recommend(["428.0"], top=4).recommendations
    assert [one.rank for one in by_rank] == [1, 2, 3, 4]
    assert by_rank[1].probability == pytest.approx(0.5)


def test_a_model_made_before_there_was_a_calibration_only_ranks(tmp_path: Path, model: Model) -> None:
    write_folder(tmp_path / "old", replace(planted_files("e+sa+ma"), calibration=None))
    old = Model.load(tmp_path / "old")
    answers = [one.recommend(["428.0", "250.00"], top=4) for one in (old, model)]
    assert [one.probability for one in answers[0].recommendations] == [None] * 4
    ranked = [[one.code for one in answer.recommendations] for answer in answers]
    assert ranked[0] == ranked[1]
    assert old.probabilities(np.zeros((1, 4), np.float32)) is None
    with pytest.raises(ModelError, match="no calibration, so it cannot promise a coverage"):
        old.recommend(["428.0"], coverage=0.9)


def test_reasons_are_the_columns_of_the_plan(model: Model) -> None:
    answer = model.recommend(["428.0", "250.00"], top=2)
    for one in answer.recommendations:
        column = answer.plan.mass[:, one.rank - 1]
        shares = dict(zip(["icd9cm:4280", "icd9cm:25000"], column / column.sum(), strict=True))
        assert {reason.code: reason.share for reason in one.because} == pytest.approx(shares)
        assert one.because[0].share >= one.because[1].share
    assert answer.plan.transport.converged


@pytest.mark.parametrize("typed", ["428.0", "4280", "icd9cm:4280", " 428.0 ", "ICD9CM:428.0"])
def test_codes_are_read_as_people_write_them(model: Model, typed: str) -> None:
    (diagnosis,) = model.recommend([typed]).diagnoses
    assert (diagnosis.code, diagnosis.status, diagnosis.significance) == ("icd9cm:4280", "known", 1.0)
    assert diagnosis.title == title("icd9cm:4280").text


def test_a_code_typed_twice_counts_once(model: Model) -> None:
    once, twice = (
        model.recommend(["428.0", "25000"]),
        model.recommend(["428.0", "icd9cm:4280", "250.00", "4280"]),
    )
    assert once.to_dict() == twice.to_dict()


def test_unknown_codes_are_reported_and_change_nothing(model: Model) -> None:
    with_strangers = model.recommend(["599.0", "428.0", "hello", "I50.9", "icd9pcs:3722"])
    found = {one.code: (one.status, one.significance) for one in with_strangers.diagnoses}
    assert found == {
        "icd9cm:5990": ("unknown", 0.0),
        "icd9cm:4280": ("known", 1.0),
        "hello": ("unknown", 0.0),
        "icd10cm:I509": ("unknown", 0.0),
        "icd9pcs:3722": ("unknown", 0.0),
    }
    titles = {one.code: one.title for one in with_strangers.diagnoses}
    assert "urinary tract infection" in titles["icd9cm:5990"].lower()
    assert titles["hello"] == "not an ICD diagnosis code"
    assert with_strangers.recommendations == model.recommend(["428.0"]).recommendations


def test_no_known_code_is_an_error_that_names_them(model: Model) -> None:
    with pytest.raises(InputError, match=r"^The model knows none of these diagnoses: 599\.0, qqqq\.$"):
        model.recommend(["599.0", "qqqq"])
    with pytest.raises(InputError, match=r"37\.22 is a procedure \(Left heart.*\), not a diagnosis"):
        model.recommend("37.22")
    with pytest.raises(InputError, match=r"did you mean 428\.0 Congestive heart failure"):
        model.recommend("congestive heart failure")
    for nothing in ([], "", [" "]):
        with pytest.raises(InputError, match="at least one code"):
            model.recommend(nothing)
    with pytest.raises(InputError, match="at least 1, not 0"):
        model.recommend(["428.0"], top=0)


def test_a_text_that_fits_two_codes_of_the_model_must_name_its_system(model: Model) -> None:
    with pytest.raises(CodeError, match=r"'E030' may be icd.*: write it with its system"):
        model.recommend(["E030", "428.0"])
    assert model.recommend(["icd10cm:E030", "428.0"]).diagnoses[0].status == "known"


@pytest.mark.parametrize("method", ["e+pooling", "e+ma"])
def test_without_self_attention_all_diagnoses_weigh_the_same(tmp_path: Path, method: str) -> None:
    write_folder(tmp_path / "m", planted_files(method))
    answer = Model.load(tmp_path / "m").recommend(["428.0", "250.00", "icd9cm:0389"])
    assert [one.significance for one in answer.diagnoses] == pytest.approx([1 / 3] * 3)


def test_an_explanation_of_given_procedures(model: Model) -> None:
    explained = model.explain(["428.0", "250.00", "999.99"], ["37.22", "39.95", "88.72"])
    assert [(one.code, one.status) for one in explained.procedures] == [
        ("icd9pcs:3722", "known"),
        ("icd9pcs:3995", "known"),
        ("icd9pcs:8872", "unknown"),
    ]
    found = explained.to_dict()
    assert found["plan"]["diagnoses"] == ["icd9cm:4280", "icd9cm:25000"]
    assert found["plan"]["procedures"] == ["icd9pcs:3722", "icd9pcs:3995"]
    mass = np.array(found["plan"]["mass"])
    mu = [one.significance for one in explained.diagnoses if one.status == "known"]
    np.testing.assert_allclose(mass.sum(axis=1), mu, atol=1e-3)
    np.testing.assert_allclose(mass.sum(axis=0), 0.5, atol=1e-3)
    assert found["plan"]["converged"] is True
    assert found["plan"]["marginal_error"] <= 1e-3
    json.dumps(found)


def test_an_explanation_of_the_best_procedures(model: Model) -> None:
    explained, recommended = (
        model.explain(["428.0", "250.00"], top=3),
        model.recommend(["428.0", "250.00"], top=3),
    )
    assert [one.code for one in explained.procedures] == [one.code for one in recommended.recommendations]
    assert np.array_equal(explained.plan.mass, recommended.plan.mass)
    with pytest.raises(InputError, match=r"none of these procedures: 88\.72"):
        model.explain(["428.0"], ["88.72"])


def test_neighbors_by_cosine(model: Model) -> None:
    near = model.neighbors("428.0", top=2)
    assert (near.code, near.title) == ("icd9cm:4280", title("icd9cm:4280").text)
    assert [one.code for one in near.procedures] == ["icd9pcs:3722", "icd9pcs:0017"]
    assert [one.similarity for one in near.procedures] == pytest.approx([3 / 10**0.5, 1 / 10**0.5])
    assert "icd9cm:4280" not in [one.code for one in near.diagnoses]
    assert len(model.neighbors("428.0").diagnoses) == 4
    assert model.neighbors("37.22", top=1).diagnoses[0].code == "icd9cm:4280"
    assert model.neighbors("37.22", top=1).procedures[0].code != "icd9pcs:3722"
    json.dumps(near.to_dict())


def test_neighbors_of_unknown_or_ambiguous_codes(model: Model) -> None:
    with pytest.raises(InputError, match=r"does not know the code '401\.9'"):
        model.neighbors("401.9")
    with pytest.raises(CodeError, match="'0389' may be icd9cm:0389 or icd9pcs:0389"):
        model.neighbors("0389")
    assert model.neighbors("icd9pcs:0389", top=1).diagnoses[0].code == "icd9cm:0389"


def test_a_model_says_what_it_is(model: Model) -> None:
    assert repr(model) == "Model(e+sa+ma, 5 diagnoses, 4 procedures)"


def test_a_vocabulary_of_the_wrong_kind_is_refused() -> None:
    files = planted_files("e+sa+ma")
    object.__setattr__(files, "diagnoses", ("icd9pcs:0017", *files.diagnoses[1:]))
    with pytest.raises(ModelError, match="vocabulary cannot be used"):
        Model(files)
    object.__setattr__(files, "diagnoses", ("snomed:1", *files.diagnoses[1:]))
    with pytest.raises(ModelError, match="vocabulary cannot be used"):
        Model(files)


def test_answering_imports_neither_torch_nor_numba_nor_ibis(folder: Path) -> None:
    script = (
        "import sys\nfrom dx2px.answers import Model\n"
        "Model.load(sys.argv[1]).recommend(['I50.9', '428.9', '428.0'], coverage=0.9, map=True)\n"
        "print([m for m in ('torch', 'numba', 'ibis', 'scipy', 'sklearn', 'matplotlib') if m in sys.modules])"
    )
    command = [sys.executable, "-c", script, str(folder)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_model_goes_to_another_process_and_answers_the_same(model: Model) -> None:
    before = model.recommend(["428.0", "250.00"]).to_dict()  # also fills what the model remembers
    assert pickle.loads(pickle.dumps(model)).recommend(["428.0", "250.00"]).to_dict() == before
