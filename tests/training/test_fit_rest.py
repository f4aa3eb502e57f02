"""Probabilities given the rest of a stay, fitted to stays whose rule is known, and kept in a record."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import synthetic_models
from dx2px.cohort import Cohort, Ragged
from dx2px.ragged import offsets_of
from dx2px.scoring.calibration_record import from_record, to_record
from dx2px.scoring.correction import Correction
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.rest import Rest
from dx2px.scoring.segments import Floats
from dx2px.training import fit_rest as fit_rest_module
from dx2px.training.fit_rest import fit_rest
from synthetic_models import SIGMOID, beside_files, exclusive_stays

LAYOUT = EvidenceLayout(1, 4)
STAGE = replace(SIGMOID, completion=Correction(1.0, 0.0, 0.0))
OPEN, CLOSED, BLOOD, ECHO = range(4)


stays = partial(exclusive_stays, others=(ECHO,))
even_scores = partial(synthetic_models.even_scores, LAYOUT)


def given(rest: Rest, coded: list[int]) -> list[float]:
    scores = np.zeros((1, 4))
    scores[0, coded] = -np.inf
    found: list[float] = replace(STAGE, rest=rest).given_rest(scores)[0].tolist()
    return found


@pytest.fixture(scope="module")
def rest() -> Rest:
    found = fit_rest(STAGE, LAYOUT, (even_scores, stays(3000, 0)), (even_scores, stays(1000, 1)))
    assert found is not None
    return found


def test_the_shares_of_the_rule_are_found(rest: Rest) -> None:
    """Of stays with open, with or without blood and nothing else, four in five have blood."""
    assert given(rest, [OPEN])[BLOOD] == pytest.approx(0.8, abs=0.06)
    assert given(rest, [CLOSED])[BLOOD] < 0.05
    assert given(rest, [OPEN, BLOOD])[ECHO] == pytest.approx(1 / 3, abs=0.06)
    assert max(given(rest, [OPEN])[CLOSED], given(rest, [CLOSED])[OPEN]) < 0.03


def test_the_gradient_is_that_of_what_is_answered() -> None:
    rng = np.random.default_rng(2)
    lessons = fit_rest_module._Asked.of(STAGE, LAYOUT, even_scores, stays(9, 3))
    shapes = {"k": (4,), "a": (4,), "A": (4, 3), "B": (4, 3)}
    weights = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    entries = Ragged(offsets_of(np.bincount(lessons.stay, minlength=9)), np.arange(len(lessons.stay)))
    found = fit_rest_module.gradient(weights, lessons, np.arange(9), entries)

    def surprise(name: str, step: Floats) -> float:
        moved = weights | {name: weights[name] + step}
        y = lessons.log_odds(Rest.of({f"rest_{of}": array for of, array in moved.items()}))
        return float(np.logaddexp(0, np.where(lessons.belongs, -y, y)).sum())

    for name, slopes in found.items():
        way = rng.normal(size=slopes.shape).astype(np.float32)
        slope = (surprise(name, way / 128) - surprise(name, -way / 128)) * 64
        assert float((slopes * way).sum()) == pytest.approx(slope, rel=2e-3, abs=2e-3)


def test_some_places_are_those_of_all(rest: Rest) -> None:
    scores = np.array([[0.3, -np.inf, 1.0, -2.0], [0.0, 0.5, 0.2, 0.1], [-np.inf, 0.0, -np.inf, 0.0]])
    stage, places = replace(STAGE, rest=rest), np.array([[3, 0], [1, 2], [1, 3]])
    whole = stage.given_rest(scores)
    np.testing.assert_array_equal(stage.given_rest(scores, places), np.take_along_axis(whole, places, axis=1))
    np.testing.assert_array_equal(whole[1], stage.probability(scores[1:2])[0])  # nothing is coded


def test_stays_with_one_procedure_say_nothing() -> None:
    single = Cohort.from_lists([["icd9cm:4280"]] * 40, [[f"icd9pcs:100{n % 4}"] for n in range(40)])
    assert fit_rest(STAGE, LAYOUT, (even_scores, single), (even_scores, single)) is None


def test_a_record_comes_back_and_a_broken_one_is_refused() -> None:
    stage = beside_files().calibration
    assert stage is not None
    record, arrays = to_record(stage), stage.arrays
    again = from_record(record, arrays)
    assert again.rest is not None
    assert again.rest.numbers == (1.0, 0.0)
    scores = np.array([[0.1, -np.inf, 0.3, 0.2]])
    np.testing.assert_array_equal(again.given_rest(scores), stage.given_rest(scores))
    for broken, kept in _broken(record, arrays):
        with pytest.raises(ValueError, match="rest"):
            from_record(broken, kept)
    older = {name: value for name, value in record.items() if name != "rest"}
    without = {name: array for name, array in arrays.items() if not name.startswith("rest")}
    assert from_record(older, without).rest is None


def _broken(
    record: dict[str, Any], arrays: dict[str, Floats]
) -> list[tuple[dict[str, Any], dict[str, Floats]]]:
    fewer = {name: array for name, array in arrays.items() if name != "rest_A"}
    none = {name: array for name, array in arrays.items() if not name.startswith("rest")}
    return [
        ({**record, "rest": [0.0, 1.0]}, arrays),
        ({**record, "rest": [1.0]}, arrays),
        (record, fewer),
        (record, none),
        ({name: value for name, value in record.items() if name != "completion"}, arrays),
    ]
