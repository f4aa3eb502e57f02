"""Answers of a model with very many procedures, by candidates: what the full computation says, in less time.

The package's model stands for one: its 695 procedures count as very many here, and few of them are scored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dx2px import score_batches
from dx2px.answers import Model, even_blocks
from dx2px.answers.asking import Asked, explain_each
from dx2px.answers.shipped import model_path
from dx2px.ragged import Ragged
from dx2px.scoring import candidates
from dx2px.scoring.factor import Once
from dx2px.scoring.folder import ModelFiles, read_folder
from dx2px.scoring.selection import Sample, evenly_drawn, rates
from synthetic_models import beside_files

STAYS, HEARD = 100, 150


@pytest.fixture(scope="module")
def files() -> ModelFiles:
    """The package's model, with heads that hear the most common procedures alone."""
    found = read_folder(model_path("nhds2010"))
    assert found.calibration is not None
    rare = np.argsort(-np.array(found.procedure_counts or ()))[HEARD:]
    arrays = {name: array.copy() for name, array in found.calibration.arrays.items()}
    for name in ("head_W", "completion_W", "partial_W"):
        arrays[name][rare] = 0
    return replace(found, calibration=found.calibration.with_arrays(arrays))


@pytest.fixture(scope="module", autouse=True)
def few() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, number in (("MANY", 600), ("MANY_IN_FILES", 600), ("LISTED", 48), ("SAMPLE", 60)):
            patch.setattr(candidates, name, number)
        patch.setattr(even_blocks, "BLOCK", 64)
        yield


@pytest.fixture(scope="module")
def narrow(files: ModelFiles) -> Model:
    return Model(files)


@pytest.fixture(scope="module")
def full(files: ModelFiles) -> Model:
    return Model(files, full=True)


@pytest.fixture(scope="module")
def stays(files: ModelFiles) -> list[dict[str, Any]]:
    """Diagnoses as common as they are in the model's stays, and facts that fit nothing."""
    rng = np.random.default_rng(0)
    common = np.array(files.diagnosis_counts) / sum(files.diagnosis_counts or ())
    found = []
    for size in rng.integers(1, 13, STAYS).tolist():
        codes = [files.diagnoses[place] for place in rng.choice(len(common), size, replace=False, p=common)]
        facts = {"age": int(rng.integers(0, 100)), "sex": str(rng.choice(["F", "M"])), "principal": codes[0]}
        found.append({"codes": codes, **(facts if size % 3 else {})})
    return found


def test_few_procedures_are_scored(narrow: Model, stays: list[dict[str, Any]]) -> None:
    assert narrow.candidates is not None
    rows = narrow.rows_of(narrow.diagnoses.find_all(stays[0]["codes"]))[0]
    assert len(narrow.candidates.narrowed(rows).chosen.codes) < 400


@pytest.mark.parametrize("coded", [(), ("icd9pcs:3722", "icd9pcs:9904")])
def test_the_best_are_those_of_the_full_computation(
    narrow: Model, full: Model, stays: list[dict[str, Any]], coded: tuple[str, ...]
) -> None:
    same, apart, weights = [], [], []
    for stay in stays:
        one, other = (model.recommend(**stay, top=10, coded=coded) for model in (narrow, full))
        pairs = list(zip(one.recommendations, other.recommendations, strict=True))
        same += [mine.code == theirs.code for mine, theirs in pairs]
        apart += [
            abs(mine.probability - theirs.probability) for mine, theirs in pairs if mine.code == theirs.code
        ]
        weights += [
            abs(a.significance - b.significance) for a, b in zip(one.diagnoses, other.diagnoses, strict=True)
        ]
        assert not set(coded) & {found.code for found in one.recommendations}
    assert np.mean(same) >= 0.999
    for differences in (apart, weights):
        assert 0 < np.mean(differences) < 0.001
        assert max(differences) < 0.03


def test_what_needs_all_procedures_scores_them(
    narrow: Model, full: Model, stays: list[dict[str, Any]]
) -> None:
    stay = stays[0]
    for wish in ({"procedures": ["37.22"]}, {"coverage": 0.9}, {"top": 40}):
        assert narrow.explain(**stay, **wish).to_dict() == full.explain(**stay, **wish).to_dict()


def test_what_stands_in_for_unseen_codes_has_lists_too(narrow: Model, full: Model) -> None:
    assert narrow.diagnoses.find_all(["42800"])[0].status == "backed-off"
    for codes in (["42800"], ["5856", "42800"], ["42800", "42801"]):  # the last have one heading
        answers = [model.explain(codes, principal="42800", age=70) for model in (narrow, full)]
        one, other = (answer.procedures for answer in answers)
        assert [found.code for found in one] == [found.code for found in other]
        assert [found.probability for found in one] == pytest.approx(
            [found.probability for found in other], abs=0.02
        )
        significance = [[found.significance for found in answer.diagnoses] for answer in answers]
        assert significance[0] == pytest.approx(significance[1], abs=0.02)


def test_a_stay_has_one_answer_alone_together_and_in_files(
    files: ModelFiles, narrow: Model, stays: list[dict[str, Any]]
) -> None:
    asked = [
        Asked(
            stay["codes"], None, 5, None, True, "own", None, {k: v for k, v in stay.items() if k != "codes"}
        )
        for stay in stays[:6]
    ]
    together = explain_each(Model(files), asked)
    assert [one.to_dict() for one in together] == [narrow.explain(**stay).to_dict() for stay in stays[:6]]

    lists = [stay["codes"] for stay in stays] + [["4280", "99999"], ["nothing"]]
    table = pa.record_batch({"stay_id": pa.array(range(len(lists))), "diagnoses": pa.array(lists)})
    whole = pa.Table.from_batches(score_batches(narrow, [table], 10))
    turned = table.take(pa.array(range(len(lists)))[::-1])
    again = pa.Table.from_batches(score_batches(Model(files), [turned], 10, threads=1))
    assert whole.equals(again.take(list(range(len(lists)))[::-1]))
    best = [found.code for found in narrow.recommend(lists[0], top=10).recommendations]
    assert whole["recommendations"][0].as_py() == best
    everything = pa.Table.from_batches(score_batches(Model(files, full=True), [table], 10))
    lists_of_both = (one["recommendations"].to_pylist() for one in (whole, everything))
    assert np.mean([a == b for a, b in zip(*lists_of_both, strict=True)]) >= 0.99


def test_a_column_that_counts_twice_stands_for_its_twin() -> None:
    """A model of four procedures, one of them doubled: with one of the two, counted twice, it answers as with both."""
    small = beside_files()
    twice, once = [0, 1, 2, 2, 3], [0, 1, 2, 4]
    own = {name: small.arrays[name][twice] for name in ("V", "b", "coded_U", "coded_s")}
    stage = small.calibration
    assert stage is not None
    head = {name: array[twice] for name, array in stage.arrays.items()}
    stage = replace(stage, centred=True, weights=np.array([1.0, 0.5, 0.1, 0.2])).with_arrays(head)
    codes = tuple(f"icd9pcs:000{place}" for place in range(5))
    doubled = replace(small, procedures=codes, arrays=small.arrays | own, calibration=stage)
    scorer: Any = doubled.scorer()
    stay = Ragged.of_one([0, 1, scorer.layout.background])
    chosen = Sample(np.array([1, 1, 0.5, 0.5, 1])).beside(np.array([0, 4]))
    assert (chosen.codes.tolist(), chosen.counts.tolist()) == (once, [1, 1, 2, 1])
    fewer = scorer.narrowed(chosen, Once(doubled.arrays["V"][once]), coded=False)
    s = fewer.scores(stay)
    np.testing.assert_array_equal(s, scorer.scores(stay)[:, once])
    np.testing.assert_allclose(fewer.significance(stay), scorer.significance(stay), rtol=1e-6)
    p = stage.narrowed(chosen, coded=False).probability(s)
    np.testing.assert_allclose(p, stage.probability(scorer.scores(stay))[:, once], rtol=1e-6)
    alone = stage.narrowed(replace(chosen, counts=np.ones(4)), coded=False).probability(s)
    assert not np.allclose(p, alone, rtol=1e-3)


def test_every_stretch_of_codes_is_drawn_in_its_share() -> None:
    rate = rates(np.random.default_rng(3).pareto(1.0, 3000), 400)
    drawn = evenly_drawn(rate)
    assert set(np.flatnonzero(rate == 1)) <= set(drawn.tolist())
    for start, end in ((0, 3000), (0, 500), (700, 760), (2999, 3000)):
        found = np.count_nonzero((drawn >= start) & (drawn < end))
        assert abs(found - rate[start:end].sum()) <= 1


@pytest.mark.parametrize(("name", "number"), [("MANY", 5_000), ("MOST_HEARD", HEARD - 1)])
def test_with_fewer_procedures_or_heads_that_hear_too_many_all_are_scored(
    full: Model, monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    assert full.candidates is None
    assert Model(full.files).candidates is not None
    monkeypatch.setattr(candidates, name, number)
    assert Model(full.files).candidates is None
