"""The head: its formula, the same answer in any company, procedures that are out of the question, and its folder."""

from __future__ import annotations

import json
from dataclasses import replace
from math import exp, sqrt, tanh
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from dx2px.errors import ModelError
from dx2px.scoring.alternatives import Alternatives
from dx2px.scoring.calibration import Calibration
from dx2px.scoring.calibration_record import to_record
from dx2px.scoring.factor import Factor
from dx2px.scoring.folder import ModelFiles, config_file, halved, read_folder, write_folder
from dx2px.scoring.head import LAYOUT, Head
from dx2px.scoring.identity import fingerprint
from synthetic_models import SIGMOID, planted_files


def drawn(procedures: int = 9, factors: int = 3, seed: int = 0, size: float = 1.0) -> Head:
    rng = np.random.default_rng(seed)
    lengths = {"procedure": procedures, "factor": factors}
    shapes = {name: tuple(lengths[axis] for axis in axes) for name, axes in LAYOUT.items()}
    arrays = {name: (size * rng.normal(size=shape)).astype(np.float32) for name, shape in shapes.items()}
    return Head.of(arrays, (0.9, -0.2))


def staged(head: Head, centred: bool = False) -> Calibration:
    return replace(SIGMOID, head=head, centred=centred)


def test_it_follows_its_formula() -> None:
    head, eta = drawn(4, 2), [-3.0, 0.5, -1.0, 2.0]
    roots = [sqrt(1 / (1 + exp(-x))) for x in eta]
    factors = [tanh(sum(head.W[p, f] * roots[p] for p in range(4))) for f in range(2)]
    z = [head.k[p] * eta[p] + head.a[p] + head.q[p] @ factors for p in range(4)]
    found = staged(head).probability(np.array([eta]))[0]
    assert found.tolist() == pytest.approx([1 / (1 + exp(-(0.9 * one - 0.2))) for one in z], rel=1e-5)


def test_at_its_start_it_changes_nothing() -> None:
    scores = np.random.default_rng(1).normal(-2, 3, (20, 9)).astype(np.float32)
    still = Head(
        np.ones(9, np.float32), np.zeros(9, np.float32), np.zeros((9, 3), np.float32), drawn().W, 1.0, 0.0
    )
    assert staged(still).probability(scores) == pytest.approx(SIGMOID.probability(scores), rel=1e-12)


@given(st.integers(0, 1000), st.integers(1, 70))
def test_a_stay_has_the_same_probabilities_alone_among_others_and_place_by_place(
    seed: int, stays: int
) -> None:
    rng = np.random.default_rng(seed)
    procedures = int(rng.integers(1, 300))
    stage = staged(drawn(procedures, 16, seed), centred=bool(seed % 2))
    scores = rng.normal(-2, 3, (stays, procedures)).astype(np.float32)
    whole = stage.probability(scores)
    alone = np.concatenate([stage.probability(row[None, :]) for row in scores])
    assert np.array_equal(whole, alone)
    places = rng.integers(0, procedures, (stays, 4))
    assert np.array_equal(stage.probability(scores, places), np.take_along_axis(whole, places, axis=1))
    pairs = Alternatives(
        [(0, one) for one in range(1, procedures)] + [(1, one) for one in range(2, procedures)]
    )
    stage = replace(stage, alternatives=pairs)
    limited = np.take_along_axis(stage.probability(scores), places, axis=1)
    one_by_one = [stage.probability(row[None], at[None])[0] for row, at in zip(scores, places, strict=True)]
    assert np.array_equal(np.array(one_by_one).reshape(limited.shape), limited)


@pytest.mark.parametrize("extreme", [1e4, 1e30])
@pytest.mark.parametrize("size", [1.0, 1000.0])
def test_no_probability_is_certain(extreme: float, size: float) -> None:
    p = staged(drawn(3, size=size)).probability(np.array([[-extreme, 0, extreme]], np.float32))
    assert ((p > 0) & (p < 1)).all()


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("with_head", [False, True])
def test_what_is_out_of_the_question_has_no_chance_and_no_say(centred: bool, with_head: bool) -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(-2, 2, (3, 9))
    scores[0, [2, 5]] = scores[2] = -np.inf
    head = drawn(9)
    weights = np.array([1.0, 0.4, -0.3, 0.1])
    stage = replace(SIGMOID, head=head if with_head else None, centred=centred, weights=weights)
    found = stage.probability(scores)
    assert (found[0, [2, 5]] == 0).all()
    assert (found[2] == 0).all()
    assert np.array_equal(found[1], stage.probability(scores[1:2])[0])
    left = [0, 1, 3, 4, 6, 7, 8]
    narrow = Head(head.k[left], head.a[left], head.q[left], head.W[left], head.slope, head.shift)
    fewer = replace(stage, head=narrow if with_head else None).probability(scores[:1, left])
    assert found[0, left] == pytest.approx(fewer[0], rel=1e-6)
    places = np.array([[2, 0], [3, 1], [4, 4]])
    assert np.array_equal(stage.probability(scores, places), np.take_along_axis(found, places, axis=1))


def files(**changes: Any) -> ModelFiles:
    return planted_files("e+pooling", calibration=staged(drawn(4, 2)), **changes)


@pytest.mark.parametrize("half", [False, True])
def test_a_folder_gives_it_back(tmp_path: Path, half: bool) -> None:
    wanted = files()
    write_folder(tmp_path / "m", wanted, half=half)
    found = read_folder(tmp_path / "m")
    assert wanted.calibration is not None
    assert found.calibration is not None
    assert to_record(found.calibration) == to_record(wanted.calibration)
    assert found.arrays.keys() == wanted.arrays.keys()
    kept = halved(wanted.calibration.arrays) if half else wanted.calibration.arrays
    for name, array in kept.items():
        assert np.array_equal(found.calibration.arrays[name], array)
        assert found.calibration.arrays[name].dtype == np.float32


def test_models_with_other_heads_are_other_models() -> None:
    other = planted_files("e+pooling", calibration=staged(drawn(4, 2, seed=1)))
    assert len({fingerprint(one) for one in (files(), other, planted_files("e+pooling"))}) == 3


def test_a_head_of_another_size_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="head_k is 5, not 4"):
        write_folder(tmp_path / "m", planted_files("e+pooling", calibration=staged(drawn(5, 2))))


def _without(*names: str) -> Any:
    def damage(record: dict[str, Any], arrays: dict[str, Any]) -> None:
        for name in names:
            arrays.pop(name)

    return damage


def _set(value: Any) -> Any:
    def damage(record: dict[str, Any], arrays: dict[str, Any]) -> None:
        record["calibration"] |= {"head": value}

    return damage


def _no_final(record: dict[str, Any], arrays: dict[str, Any]) -> None:
    del record["calibration"]["head"]


def _no_calibration(record: dict[str, Any], arrays: dict[str, Any]) -> None:
    del record["calibration"]


def _another_length(record: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["head_W"] = np.ones((4, 3), np.float32)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_without("head_q"), "parts of its head are missing"),
        (_without(*LAYOUT), "parts of its head are missing"),
        (_no_final, "parts of its head are missing"),
        (_no_calibration, "a head, but no calibration"),
        (_set([1.0]), "a slope above 0 and a shift"),
        (_set([0.0, 1.0]), "a slope above 0 and a shift"),
        (_set("12"), "a list of numbers"),
        (_another_length, "head_W is 4 × 3, not 4 × 2"),
    ],
)
def test_half_a_head_is_refused(tmp_path: Path, damage: Any, said: str) -> None:
    folder = tmp_path / "m"
    write_folder(folder, files())
    record = json.loads((folder / "config.json").read_text())
    arrays = safetensors.numpy.load((folder / "weights.safetensors").read_bytes())
    damage(record, arrays)
    data = safetensors.numpy.save(arrays)
    (folder / "weights.safetensors").write_bytes(data)
    record["files"]["weights.safetensors"] = config_file.sha256(data)
    record["sizes"]["weights.safetensors"] = len(data)
    record["arrays"] = {
        name: {"shape": list(array.shape), "dtype": array.dtype.name} for name, array in arrays.items()
    }
    unmarked = {name: value for name, value in record.items() if name not in ("kind", "format", "digest")}
    (folder / "config.json").write_bytes(config_file.render(unmarked))
    with pytest.raises(ModelError, match=said):
        read_folder(folder)


@pytest.mark.parametrize("columns", [1, 2, 16, 81, 161])
def test_a_product_is_the_same_wherever_its_row_stands(columns: int) -> None:
    rng = np.random.default_rng(columns)
    left = rng.normal(size=(37, 200)).astype(np.float32)
    factor = Factor(rng.normal(size=(200, columns)).astype(np.float32))
    whole = left @ factor
    assert whole.shape == (37, columns)
    assert np.array_equal(whole, np.concatenate([row[None] @ factor for row in left]))
    assert np.array_equal(whole[5:], left[5:] @ factor)
