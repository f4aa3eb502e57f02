"""Probabilities from scores of any kind, fitted where the true chances are known, and sets that keep their promise."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from dx2px.errors import InputError
from dx2px.ragged import Ragged, offsets_of
from dx2px.scoring import points
from dx2px.scoring.calibration import Calibration
from dx2px.scoring.points import scored_pairs
from dx2px.scoring.reliability import reliability
from dx2px.training.fit_calibration import conformal_thresholds, fit_calibration

STAYS, PROCEDURES = 5000, 30
Distortion = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
Stages = Callable[[str], Calibration]

# What methods make of the true log odds, given an offset of the stay's own that means nothing.
SCORES: dict[str, Distortion] = {
    "logits": lambda eta, offset: eta,
    "too sure": lambda eta, offset: 3 * eta + 2,
    "softmax logits": lambda eta, offset: -np.logaddexp(0, -eta) + offset,
    "frequencies": lambda eta, offset: 1 / (1 + np.exp(-eta)),
    "negative distances": lambda eta, offset: -np.exp(-0.5 * eta),
}


class World:
    """Stays with true chances; those of a stay sum to much the same, as with coded procedures."""

    def __init__(self, seed: int, stays: int = STAYS) -> None:
        rng = np.random.default_rng(seed)
        self.eta = rng.normal(-4, 2, (stays, PROCEDURES))
        coded = rng.random(self.eta.shape) < 1 / (1 + np.exp(-self.eta))
        coded[np.arange(stays), self.eta.argmax(axis=1)] |= ~coded.any(axis=1)  # every stay has a procedure
        self.coded = coded
        self.offset = rng.normal(0, 3, (stays, 1))
        self.rows = Ragged.from_lists([[i] for i in range(stays)])
        self.procedures = Ragged(offsets_of(coded.sum(axis=1)), np.nonzero(coded)[1])

    def scores(self, distort: Distortion) -> Callable[[Ragged], NDArray[np.float32]]:
        table = distort(self.eta, self.offset).astype(np.float32)
        return lambda rows: table[rows.values]


@pytest.fixture(scope="module")
def validation() -> World:
    return World(1)


@pytest.fixture(scope="module")
def test() -> World:
    return World(2)


@pytest.fixture(scope="module")
def fitted(validation: World) -> Stages:
    """The stage of each kind of scores, fitted once."""

    @cache
    def stage(kind: str) -> Calibration:
        return fit_calibration(
            *scored_pairs(validation.scores(SCORES[kind]), validation.rows, validation.procedures)
        )

    return stage


@pytest.mark.parametrize("kind", SCORES)
def test_scores_of_any_kind_become_probabilities(fitted: Stages, test: World, kind: str) -> None:
    stage = fitted(kind)
    assert stage.centred == (kind == "softmax logits")
    found = reliability(stage, test.scores(SCORES[kind]), test.rows, test.procedures)
    assert found.all.ece <= 0.01
    assert found.top.ece <= 0.01
    assert found.all.slope == pytest.approx(1, abs=0.1)
    assert found.top.slope == pytest.approx(1, abs=0.1)
    for one in found.coverage:
        assert one.recall == pytest.approx(one.target, abs=0.01)


@pytest.mark.parametrize("kind", SCORES)
def test_the_pooled_stage_keeps_the_order_of_a_stays_procedures(
    fitted: Stages, validation: World, kind: str
) -> None:
    s = validation.scores(SCORES[kind])(validation.rows)
    p = np.take_along_axis(fitted(kind).probability(s), np.argsort(s, axis=1), axis=1)
    assert (np.diff(p, axis=1) >= 0).all()
    assert 0 < p.min() <= p.max() < 1


def test_thresholds_against_a_naive_search() -> None:
    rng = np.random.default_rng(0)
    p = rng.random((40, 6))
    coded = rng.random(p.shape) < 0.4
    coded[:, 0] |= ~coded.any(axis=1)
    coverages = np.array([0.5, 0.7, 0.9, 0.97])

    def corrected_recall(threshold: float) -> float:
        total = 0.0
        for row, truth in zip(p, coded, strict=True):
            inside = {j for j in range(6) if row[j] >= threshold} | {int(row.argmax())}
            total += len(inside & set(np.flatnonzero(truth))) / truth.sum()
        return total / (len(p) + 1)

    found = conformal_thresholds(p, coded, coverages)
    for coverage, threshold in zip(coverages, found, strict=True):
        higher = [t for t in p.ravel() if t > threshold]
        if threshold > 0:
            assert corrected_recall(threshold) >= coverage - 1e-9
        assert all(corrected_recall(t) < coverage for t in higher)


def test_with_too_few_stays_only_the_whole_list_can_be_promised() -> None:
    p, coded = np.array([[0.9, 0.1], [0.8, 0.2]]), np.array([[True, False], [True, True]])
    assert conformal_thresholds(p, coded, np.array([0.6, 0.9])).tolist() == [0.2, 0.0]


def test_a_set_holds_on_average_what_was_asked_for() -> None:
    """Over many small validation parts the mean recall on fresh stays is at least the coverage, and hardly more."""
    fresh = World(99, 3000)
    chances = 1 / (1 + np.exp(-fresh.eta))
    held = []
    for seed in range(60):
        world = World(seed, 150)
        threshold = conformal_thresholds(1 / (1 + np.exp(-world.eta)), world.coded, np.array([0.9]))[0]
        inside = (chances >= threshold) | (chances == chances.max(axis=1, keepdims=True))
        held.append(((inside & fresh.coded).sum(axis=1) / fresh.coded.sum(axis=1)).mean())
    assert 0.9 - 0.01 <= np.mean(held) <= 0.9 + 0.02


@pytest.mark.parametrize("table", [np.zeros((12, 4)), np.eye(4)[np.arange(12) % 4] * 50.0])
def test_few_stays_of_useless_or_perfect_scores_give_no_certainty(table: NDArray[np.float64]) -> None:
    stage = fit_calibration(table, np.eye(4, dtype=bool)[np.arange(12) % 4])
    p = stage.probability(table)
    assert ((p > 0) & (p < 1)).all()
    if table.any():
        assert p[table > 0].min() > p[table == 0].max()
    else:
        assert p == pytest.approx(np.full(p.shape, 0.25), abs=0.05)


def test_one_procedure_that_every_stay_has() -> None:
    stage = fit_calibration(np.ones((9, 1)), np.ones((9, 1), bool))
    assert 0.7 < stage.probability(np.ones((1, 1)))[0, 0] < 1


def test_many_stays_are_thinned_out_evenly(monkeypatch: pytest.MonkeyPatch, validation: World) -> None:
    monkeypatch.setattr(points, "MOST_PAIRS", 100 * PROCEDURES)
    s, coded = scored_pairs(validation.scores(SCORES["logits"]), validation.rows, validation.procedures)
    rows = np.linspace(0, STAYS - 1, 100).astype(int)
    assert np.array_equal(s, validation.eta[rows].astype(np.float32))
    assert np.array_equal(coded, validation.coded[rows])


def test_scores_that_are_no_numbers_are_refused() -> None:
    rows, procedures = Ragged.from_lists([[0]]), Ragged.from_lists([[0]])
    with pytest.raises(InputError, match="not finite"):
        scored_pairs(lambda r: np.full((1, 2), np.nan), rows, procedures)
    with pytest.raises(InputError, match="no stays"):
        scored_pairs(lambda r: np.ones((1, 2)), Ragged.from_lists([]), Ragged.from_lists([]))


def test_what_is_printed_are_plain_numbers(fitted: Stages, validation: World) -> None:
    scores = validation.scores(SCORES["logits"])
    record = reliability(fitted("logits"), scores, validation.rows, validation.procedures).to_dict()
    assert list(record) == ["stays", "all", "top10", "coverage", "procedures"]
    assert set(record["all"]) == {"ece", "slope"}
    assert [one["target"] for one in record["coverage"]] == [0.8, 0.9, 0.95]
