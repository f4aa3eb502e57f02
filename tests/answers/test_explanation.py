"""One explanation: it keeps to its schema, its numbers agree with each other, and it says which plan it shows."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema_rs
import numpy as np
import pyarrow as pa
import pytest

from dx2px.answers import Explanation, Model, explanation_schema
from dx2px.answers.results import EXPLANATION
from dx2px.errors import InputError, ModelError
from dx2px.scoring.folder import ModelFiles
from dx2px.scoring.methods import METHODS
from dx2px.scoring.plans import BEST_POSSIBLE, CAUSES_NAMED, READINGS, faithfulness
from dx2px.scoring.transport import Penalties, cosine_costs, solve
from synthetic_models import SIGMOID

ROOT = Path(__file__).parents[2]
DIAGNOSES = ("icd9cm:25000", "icd9cm:25001", "icd9cm:2720", "icd9cm:4280", "icd9cm:4289", "icd9cm:5856")
PROCEDURES = ("icd9pcs:3722", "icd9pcs:3893", "icd9pcs:3995", "icd9pcs:8872", "icd9pcs:9904")
LENGTHS = {"diagnosis": len(DIAGNOSES), "procedure": len(PROCEDURES)}
STAY = ["428.0", "585.6", "250.00"]
VALIDATOR = jsonschema_rs.validator_for(explanation_schema())


def drawn(method: str, **settings: Any) -> ModelFiles:
    """A model of any method with arrays of any numbers."""
    rng = np.random.default_rng(0)
    shapes = {
        name: tuple(LENGTHS.get(axis, 4) for axis in axes) for name, axes in METHODS[method].arrays.items()
    }
    arrays = {name: np.asarray(rng.normal(size=shape), np.float32) for name, shape in shapes.items()}
    if "seen" in arrays:
        arrays |= {"seen": np.ones(len(DIAGNOSES), np.float32), "popularity": np.arange(5, dtype=np.float32)}
    if "sigma" in arrays:
        arrays["sigma"] = np.array(0.5, np.float32)
    return ModelFiles(
        method=method,
        settings=settings,
        diagnoses=DIAGNOSES,
        procedures=PROCEDURES,
        arrays=arrays,
        history=pa.table({"epoch": [1]}),
        card="# Drawn\n",
        calibration=SIGMOID,
    )


def told(explanation: Any) -> dict[str, Any]:
    """The document as another program reads it, held to its schema and to the names that the schema lists."""
    document: dict[str, Any] = json.loads(json.dumps(explanation.to_dict(), allow_nan=False))
    assert list(VALIDATOR.iter_errors(document)) == []
    schema = explanation_schema()
    _only_listed(document, schema, schema)
    return document


def _only_listed(value: Any, schema: Any, whole: Any) -> None:
    if "$ref" in schema:
        schema = whole["$defs"][schema["$ref"].rpartition("/")[2]]
    if isinstance(value, dict):
        assert set(value) <= set(schema["properties"])
        for name, part in value.items():
            _only_listed(part, schema["properties"][name], whole)
    elif isinstance(value, list):
        for part in value:
            _only_listed(part, schema["items"], whole)


@pytest.mark.parametrize("method", METHODS)
def test_of_every_method_the_numbers_agree(method: str) -> None:
    model = Model(drawn(method))
    explained = told(model.explain(STAY, top=4))
    assert explained["schema"] == EXPLANATION
    assert explained["model"]["method"] == method
    plan, mass = explained["plan"], np.array(explained["plan"]["mass"])
    mu = [one["significance"] for one in explained["diagnoses"]]
    assert sum(mu) == pytest.approx(1)
    assert mass.shape == (3, 4)
    assert plan["diagnoses"] == [one["code"] for one in explained["diagnoses"]]
    assert plan["procedures"] == [one["code"] for one in explained["procedures"]]
    recommended = model.recommend(STAY, top=4).to_dict()["recommendations"]
    for place, (one, other) in enumerate(zip(explained["procedures"], recommended, strict=True)):
        shares = {reason["code"]: reason["share"] for reason in one["because"]}
        assert sum(shares.values()) == pytest.approx(1)
        column = mass[:, place] / mass[:, place].sum()
        assert [shares[code] for code in plan["diagnoses"]] == pytest.approx(column.tolist())
        assert [reason["share"] for reason in one["because"]] == sorted(shares.values(), reverse=True)
        assert (one["rank"], one["probability"]) == (other["rank"], other["probability"])
        assert one["because"] == other["because"], "recommend gives the same reasons"
    scores = [one["score"] for one in explained["procedures"]]
    assert scores == sorted(scores, reverse=True)


def test_a_recommendation_keeps_its_plan() -> None:
    model = Model(drawn("coupling"))
    recommended = model.recommend(STAY, coverage=0.9)
    document = told(Explanation.of(recommended))
    assert document == model.explain(STAY, coverage=0.9).to_dict()
    assert document["coverage"] == recommended.to_dict()["coverage"]
    assert "plan" not in recommended.to_dict()


@pytest.mark.parametrize("method", ["coupling", "e+sa+ma", "popularity"])
def test_reasons_may_be_asked_for_the_first_procedures_alone(method: str) -> None:
    model = Model(drawn(method))
    whole, part = told(model.explain(STAY, top=4)), told(model.explain(STAY, top=4, with_reasons=2))
    assert "with_reasons" not in whole
    assert part["with_reasons"] == 2
    assert [len(one["because"]) for one in part["procedures"]] == [3, 3, 0, 0]
    assert part["plan"] == told(model.explain(STAY, top=2))["plan"]
    for one, other in zip(part["procedures"], whole["procedures"], strict=True):
        assert {**one, "because": []} == {**other, "because": []}
    rest = [one["code"] for one in part["procedures"][2:]]
    assert all(one["because"] for one in told(model.explain(STAY, rest))["procedures"])


def test_a_limit_on_reasons_that_is_not_reached_leaves_no_trace() -> None:
    model = Model(drawn("coupling"))
    assert told(model.explain(STAY, top=4, with_reasons=4)) == told(model.explain(STAY, top=4))
    assert told(model.unexplained(["V99"], ["37.22"]))["plan"]["procedures"] == []


def test_the_default_methods_plan_is_its_coupling() -> None:
    """Over all procedures π sums to 1 and its rows to μ; scores are logarithms of its columns, up to a constant."""
    explained = Model(drawn("coupling")).explain(STAY, list(PROCEDURES))
    assert explained.plan.kind == "coupling"
    mass = explained.plan.mass
    assert mass is not None
    assert mass.sum() == pytest.approx(1)
    np.testing.assert_allclose(mass.sum(axis=1), [d.significance for d in explained.diagnoses], rtol=1e-5)
    scores = np.array([p.score for p in explained.procedures])
    differences = np.log(mass.sum(axis=0)) - scores
    np.testing.assert_allclose(differences, differences[0], atol=1e-5)
    fewer = Model(drawn("coupling")).explain(STAY, list(PROCEDURES[1:3])).plan.mass
    np.testing.assert_allclose(fewer, mass[:, 1:3])


def papers(files: ModelFiles) -> tuple[np.ndarray, np.ndarray]:
    rows = [files.diagnoses.index(code) for code in ("icd9cm:4280", "icd9cm:5856", "icd9cm:25000")]
    costs = cosine_costs(files.arrays["U"][rows], files.arrays["V"][[2, 0]])
    mu = [d.significance for d in Model(files).explain(STAY).diagnoses]
    return costs, np.array(mu)


@pytest.mark.parametrize("method", ["coupling", "e+sa+ma", "bpr"])
def test_the_papers_plan_stays_available_as_published(method: str) -> None:
    files = drawn(method)
    explained = told(Model(files).explain(STAY, ["39.95", "37.22"], plan="transport"))
    costs, mu = papers(files)
    expected = solve(costs, mu, np.full(2, 0.5))
    plan = explained["plan"]
    assert plan["kind"] == "transport"
    np.testing.assert_allclose(plan["mass"], expected.plan, atol=1e-12)
    evidence = [plan[name] for name in ("cost", "marginal_error", "gap", "iterations", "converged")]
    assert evidence == pytest.approx([getattr(expected, name) for name in _EVIDENCE])
    np.testing.assert_allclose(np.array(plan["mass"]).sum(axis=1), mu, atol=1e-3)


_EVIDENCE = ("cost", "marginal_error", "gap", "iterations", "converged")


@pytest.mark.parametrize(("prices", "entropy"), [((0.0, None), 0.05), ((0.1, 2.0), 0.2), ((None, 0.3), 0.05)])
def test_a_model_trained_with_penalties_is_shown_with_its_own_plan(prices: Any, entropy: float) -> None:
    transport = {"diagnosis_penalty": prices[0], "procedure_penalty": prices[1], "entropy": entropy}
    files = drawn("e+sa+ma", transport=transport)
    model = Model(files)
    own, paper = (model.explain(STAY, ["39.95", "37.22"], plan=choice) for choice in ("own", "transport"))
    costs, mu = papers(files)
    penalties = Penalties(*(math.inf if price is None else price for price in prices), entropy)
    np.testing.assert_allclose(own.plan.mass, solve(costs, mu, np.full(2, 0.5), penalties).plan, atol=1e-9)
    np.testing.assert_allclose(paper.plan.mass, solve(costs, mu, np.full(2, 0.5)).plan, atol=1e-9)
    assert (own.plan.kind, paper.plan.kind) == ("penalised-transport", "transport")
    assert told(own)["plan"]["reading"] != told(paper)["plan"]["reading"]


def test_penalties_that_make_no_sense_are_refused() -> None:
    for flaw in ({"diagnosis_penalty": "much"}, {"diagnosis_penalty": 1.0, "entropy": 0}):
        with pytest.raises(ModelError, match="transport settings cannot be used"):
            Model(drawn("e+sa+ma", transport=flaw)).explain(STAY)
    assert Model(drawn("e+sa+ma", transport={"beta": 0.5})).explain(STAY).plan.kind == "transport"


def test_without_vectors_there_is_no_transport() -> None:
    model = Model(drawn("linear"))
    assert model.explain(STAY).plan.kind == "leave-one-out"
    assert model.explain(STAY, top=4).plan.mass.sum() == pytest.approx(1)
    with pytest.raises(ModelError, match="have no vectors of codes"):
        model.explain(STAY, plan="transport")


def test_every_status_is_told() -> None:
    """Typed: a known code, one that siblings stand in for, one of the other version, one that nothing stands for."""
    explained = told(
        Model(drawn("coupling")).explain(
            ["585.6", "250.90", "I50.9", "nonsense"], ["39.95", "99.99"], map=True
        )
    )
    known, backed_off, mapped, unknown = explained["diagnoses"]
    assert (known["status"], backed_off["status"], mapped["status"], unknown["status"]) == (
        *("known", "backed-off", "known", "unknown"),
    )
    assert backed_off["stand_in"]["code"] == "icd9cm:250"
    assert backed_off["stand_in"]["codes"] == 2
    assert mapped["mapped_from"] == ["icd10cm:I509"]
    assert mapped["code"] in [code for one in explained["mapping"] for code in one["to"]]
    assert unknown["significance"] == 0
    assert [one["status"] for one in explained["procedures"]] == ["known", "unknown"]
    absent = explained["procedures"][1]
    assert [absent[name] for name in ("probability", "score", "rank", "because")] == [None, None, None, []]
    assert len(explained["plan"]["mass"]) == 3


def test_ranks_are_those_of_the_whole_ranking() -> None:
    model = Model(drawn("popularity"))
    order = [one.code for one in model.recommend(STAY, top=5).recommendations]
    asked = model.explain(STAY, sorted(order)).procedures
    assert {one.code: one.rank for one in asked} == {code: place for place, code in enumerate(order, start=1)}


@pytest.mark.parametrize(("codes", "procedures"), [(["999.99", "hello"], ["39.95"]), (["428.0"], ["99.99"])])
def test_where_nothing_can_be_explained_the_codes_are_told(codes: list[str], procedures: list[str]) -> None:
    model = Model(drawn("coupling"))
    with pytest.raises(InputError, match=r"The model knows none of these (diagnoses|procedures): "):
        model.explain(codes, procedures)
    empty = told(model.unexplained(codes, procedures))
    assert [len(empty["diagnoses"]), len(empty["procedures"])] == [len(codes), 1]
    assert (empty["plan"]["kind"], empty["plan"]["mass"], empty["plan"]["diagnoses"]) == ("coupling", [], [])


def test_the_fingerprint_is_of_what_answers_depend_on() -> None:
    files = drawn("coupling")
    other = replace(files, arrays=files.arrays | {"b": files.arrays["b"] + 1})
    first, card, second = (Model(one) for one in (files, replace(files, card="# Other\n"), other))
    assert first.source == card.source != second.source


def test_one_diagnosis_is_all_of_the_reason() -> None:
    for method in ("coupling", "e+sa+ma", "linear"):
        explained = told(Model(drawn(method)).explain(["428.0"], ["39.95"]))
        assert explained["diagnoses"][0]["significance"] == pytest.approx(1)
        assert [one["share"] for one in explained["procedures"][0]["because"]] == pytest.approx([1])


def test_the_schema_refuses_what_is_wrong() -> None:
    good = Model(drawn("coupling")).explain(STAY, top=2).to_dict()
    assert VALIDATOR.is_valid(good)
    for change in (
        {"schema": "dx2px-explanation/3"},
        {"diagnoses": [good["diagnoses"][0] | {"status": "guessed"}]},
        {"diagnoses": [good["diagnoses"][0] | {"status": "backed-off"}]},
        {"procedures": [good["procedures"][0] | {"probability": 1.5}]},
        {"plan": good["plan"] | {"mass": [[-0.1]]}},
        {"plan": {name: value for name, value in good["plan"].items() if name != "faithfulness"}},
    ):
        assert not VALIDATOR.is_valid(good | change)


def test_the_faithfulness_told_is_the_documents() -> None:
    """The numbers in the sentences are those of the table that docs/faithfulness.md holds."""
    text = (ROOT / "docs" / "faithfulness.md").read_text()
    lines = {
        ("coupling", "coupling"): "| **default: shares** |",
        ("transport", "e+sa+ma"): "| e+sa+ma: **plan T** |",
        ("transport", "e+ma"): "| e+ma: **plan T** |",
    }
    assert _row(text, "| the generator's posterior |") == BEST_POSSIBLE
    for key, begin in lines.items():
        assert CAUSES_NAMED[key] == _row(text, begin)
    free = next(line for line in text.splitlines() if line.startswith("| free |"))
    assert float(free.split("|")[4]) == CAUSES_NAMED["penalised-transport", "e+sa+ma"][0]


def _row(text: str, begin: str) -> tuple[float, ...]:
    line = next(line for line in text.splitlines() if line.startswith(begin))
    return tuple(float(number) for number in re.findall(r"\| (\d+\.\d) \[", line))[:3]


def test_what_was_not_measured_is_said() -> None:
    assert "not measured" in faithfulness("transport", "coupling")
    assert "67.0, 66.1, 47.7 %" in faithfulness("transport", "coupling")
    assert "not measured" not in faithfulness("transport", "e+sa+ma")
    assert "not measured" in faithfulness("leave-one-out", "linear")
    assert set(READINGS) == {"coupling", "transport", "penalised-transport", "leave-one-out"}
