"""The pooled stage: it rises with the score, is never certain, and survives the folder or is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dx2px.errors import InputError, ModelError
from dx2px.scoring.calibration import Calibration, centre, combined, context
from dx2px.scoring.calibration_record import to_record
from dx2px.scoring.curve import Curve
from dx2px.scoring.folder import ModelFiles, config_file, read_folder, write_folder

IDENTITY = Curve(np.array([-5.0, 5.0]), np.array([-5.0, 5.0]))
COVERAGES, THRESHOLDS = np.array([0.5, 0.8, 0.9]), np.array([0.4, 0.1, 0.0])


def plain(**changes: Any) -> Calibration:
    stage = Calibration(False, IDENTITY, np.array([1.0, 0, 0, 0]), IDENTITY, COVERAGES, THRESHOLDS)
    return replace(stage, **changes)


def drawn(seed: int) -> Calibration:
    """Any stage that could have been fitted."""
    rng = np.random.default_rng(seed)

    def curve() -> Curve:
        rises = rng.exponential(size=(2, rng.integers(2, 12))) + 1e-3
        x, y = np.cumsum(rises, axis=1) - 4
        return Curve(x, y)

    weights = np.append(rng.exponential() + 0.05, rng.normal(size=3))
    return Calibration(bool(rng.integers(2)), curve(), weights, curve(), COVERAGES, THRESHOLDS)


def test_with_identities_it_is_the_sigmoid() -> None:
    scores = np.array([[0.0, 1.0, -2.0]], np.float32)
    assert plain().probability(scores) == pytest.approx(1 / (1 + np.exp(-scores)))


def test_the_context_of_a_stay_enters_by_its_formula() -> None:
    s = np.array([[0.5, -1.0, 2.0]])
    chances = 1 / (1 + np.exp(-s))
    eta = 0.9 * s + 0.3 * np.log(chances.sum()) - 0.2 * 2.0 + 0.1
    found = plain(weights=np.array([0.9, 0.3, -0.2, 0.1])).probability(s)
    assert found == pytest.approx(1 / (1 + np.exp(-eta)))


@given(st.integers(0, 10_000), st.floats(0.1, 30))
def test_without_a_head_the_ranking_within_a_stay_is_untouched(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    scores = (scale * rng.normal(size=(5, 40))).astype(np.float32)
    scores.sort(axis=1)
    stage = drawn(seed)
    p = stage.probability(scores)
    assert ((p > 0) & (p < 1)).all()
    assert (np.diff(p, axis=1) >= 0).all()
    x = centre(scores, stage.centred)
    f = stage.first(x)
    eta = combined(f, context(f), stage.weights)
    inside = _within(x, stage.first) & _within(eta, stage.second)
    apart = np.diff(x, axis=1) > 1e-5
    assert (np.diff(p, axis=1) > 0)[inside[:, 1:] & inside[:, :-1] & apart].all()


def _within(values: np.ndarray, curve: Curve) -> np.ndarray:
    return (values >= curve.x[0]) & (values <= curve.x[-1])


@pytest.mark.parametrize("extreme", [1e4, 1e30])
def test_scores_beyond_all_that_was_seen_are_not_certain(extreme: float) -> None:
    for seed in range(20):
        p = drawn(seed).probability(np.array([[-extreme, 0, extreme]], np.float32))
        assert ((p > 0) & (p < 1)).all()
        assert p[0, 0] <= p[0, 1] <= p[0, 2]


def test_a_flat_piece_says_nothing_of_what_lies_beyond() -> None:
    """Few stays, all coded, have much the same scores: others just beyond them are no less probable."""
    curve = Curve(np.array([1.0, 1.0001]), np.array([3.0, 3.001]))
    assert curve(np.array([-50.0, 0.9, 1.0, 1.1, 50.0])) == pytest.approx(3, abs=0.03)


def test_centred_scores_mean_something_within_a_stay_alone() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4, 9))
    stage = plain(centred=True)
    assert stage.probability(scores + 100) == pytest.approx(stage.probability(scores))
    assert plain().probability(scores + 2) != pytest.approx(plain().probability(scores))


def test_some_places_alone() -> None:
    rng = np.random.default_rng(1)
    scores, places = rng.normal(size=(6, 8)), rng.integers(0, 8, (6, 3))
    stage = drawn(3)
    whole = np.take_along_axis(stage.probability(scores), places, axis=1)
    assert np.array_equal(stage.probability(scores, places), whole)


def test_thresholds_are_those_of_the_next_higher_coverage() -> None:
    assert [plain().threshold(c) for c in (0.5, 0.6, 0.8, 0.81, 0.9)] == [0.4, 0.1, 0.1, 0.0, 0.0]
    for outside in (0.49, 0.95, 1.5, -1):
        with pytest.raises(InputError, match=r"from 0\.5 to 0\.9"):
            plain().threshold(outside)


def test_a_set_is_never_empty() -> None:
    members = plain().members(np.array([[0.3, 0.35, 0.1], [0.5, 0.1, 0.45]]), 0.5)
    assert members.tolist() == [[False, True, False], [True, False, True]]


def files(calibration: Calibration | None) -> ModelFiles:
    return ModelFiles(
        method="e+pooling",
        settings={},
        diagnoses=("icd9cm:4280",),
        procedures=("icd9pcs:3722", "icd9pcs:3995"),
        arrays={"U": np.ones((1, 2), np.float32), "V": np.ones((2, 2), np.float32)},
        history=pa.table({"epoch": [1]}),
        card="# A model\n",
        calibration=calibration,
    )


def test_a_folder_keeps_it_to_the_last_digit(tmp_path: Path) -> None:
    stage = drawn(7)
    write_folder(tmp_path / "m", files(stage))
    again = read_folder(tmp_path / "m").calibration
    assert again is not None
    assert to_record(again) == to_record(stage)


def test_a_folder_without_one_loads_and_only_ranks(tmp_path: Path) -> None:
    write_folder(tmp_path / "m", files(None))
    assert "calibration" not in json.loads((tmp_path / "m" / "config.json").read_text())
    assert read_folder(tmp_path / "m").calibration is None


def _set(*path: str, to: Any) -> Any:
    def damage(record: dict[str, Any]) -> None:
        for name in path[:-1]:
            record = record[name]
        record[path[-1]] = to

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        _set("centred", to=1),
        _set("weights", to=[1.0, 0.0]),
        _set("weights", to=[-1.0, 0.0, 0.0, 0.0]),
        _set("weights", to="1234"),
        _set("weights", to=[True, 0, 0, 0]),
        _set("weights", to=[10**400, 0, 0, 0]),
        _set("weights", to=[1e308, 1e308, -1e308, 0]),
        _set("first", "x", to=[-1e308, 1e308]),
        _set("first", "x", to=[0.0, 5e-324]),
        _set("first", to=[1, 2]),
        _set("first", "x", to=[0.0]),
        _set("first", "x", to=[0.0, 0.0]),
        _set("second", "y", to=[1.0, 0.0]),
        _set("second", "z", to=[1.0]),
        _set("coverages", to=[]),
        _set("coverages", to=[0.9, 0.8, 0.5]),
        _set("thresholds", to=[0.1, 0.2, 0.3]),
        _set("thresholds", to=[1.5, 0.2, 0.1]),
        _set("thresholds", to=[0.2]),
        _set("note", to="hello"),
    ],
)
def test_damage_is_refused_with_a_sentence(tmp_path: Path, damage: Any) -> None:
    write_folder(tmp_path / "m", files(plain()))
    path = tmp_path / "m" / "config.json"
    record = json.loads(path.read_text())
    damage(record["calibration"])
    unmarked = {name: value for name, value in record.items() if name not in ("kind", "format", "digest")}
    path.write_bytes(config_file.render(unmarked))
    with pytest.raises(ModelError, match=r"its calibration cannot be used \(.*\)\.$"):
        read_folder(tmp_path / "m")


def test_a_calibration_that_is_no_object_is_refused(tmp_path: Path) -> None:
    write_folder(tmp_path / "m", files(None))
    path = tmp_path / "m" / "config.json"
    record = json.loads(path.read_text()) | {"calibration": [1]}
    unmarked = {name: value for name, value in record.items() if name not in ("kind", "format", "digest")}
    path.write_bytes(config_file.render(unmarked))
    with pytest.raises(ModelError, match="entries"):
        read_folder(tmp_path / "m")
