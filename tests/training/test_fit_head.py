"""The head is fitted where it helps, left out where it does not, and gives sensible numbers for a handful of stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from dx2px.methods.estimator import ProcedureRecommender
from dx2px.ragged import Ragged, offsets_of
from dx2px.scoring.calibration import Calibration
from dx2px.scoring.cohort_evidence import stay_rows
from dx2px.scoring.correction import told
from dx2px.scoring.folder import halved
from dx2px.scoring.per_procedure import per_procedure
from dx2px.scoring.segments import Doubles, Floats
from dx2px.training import fit_head
from dx2px.training.fit_calibration import fit_calibration, slope_and_shift
from dx2px.training.fit_head import fitting_stays, pooled_log_odds, with_head
from dx2px.training.run import SplitConfig, learn

PROCEDURES = 12


class World:
    """Scores that are wrong procedure by procedure: one shift each, and two procedures that exclude each other."""

    def __init__(self, seed: int, stays: int, wrong: float = 1.0) -> None:
        rng = np.random.default_rng(seed)
        shifts = wrong * np.linspace(-2, 2, PROCEDURES)
        self.eta = rng.normal(-2, 1.5, (stays, PROCEDURES))
        self.coded = rng.random(self.eta.shape) < 1 / (1 + np.exp(-self.eta))
        self.coded[np.arange(stays), self.eta.argmax(axis=1)] |= ~self.coded.any(axis=1)
        self.table = (self.eta - shifts).astype(np.float32)
        if wrong:  # the scores of 0 and 1 are high together, and one of the two is coded
            pair = rng.random(stays) < 0.3
            self.table[pair, :2] = 3.0
            first = rng.random(stays) < 0.5
            self.coded[pair, 0], self.coded[pair, 1] = first[pair], ~first[pair]
        self.procedures = Ragged(offsets_of(self.coded.sum(axis=1)), np.nonzero(self.coded)[1])

    @property
    def held_out(self) -> tuple[Doubles, NDArray[np.bool_]]:
        return self.table.astype(np.float64), self.coded

    def lessons(self, pooled: Calibration) -> tuple[Floats, Ragged]:
        return pooled_log_odds(pooled, self.table.copy()), self.procedures


def test_it_makes_each_procedure_right() -> None:
    training, validation, test = World(1, 6000), World(2, 1500), World(3, 4000)
    pooled = fit_calibration(*validation.held_out)
    found = with_head(pooled, training.lessons(pooled), validation.held_out)
    assert found.head is not None
    before, after = (per_procedure(one.probability(test.table), test.coded) for one in (pooled, found))
    assert after.log_loss < before.log_loss - 0.3
    assert after.mean_gap is not None
    assert before.mean_gap is not None
    assert after.by_chance is not None
    assert after.mean_gap < min(before.mean_gap / 2, 2 * after.by_chance)
    both = test.table[:, 0] == 3.0
    sums = [one.probability(test.table)[both, :2].sum(axis=1).mean() for one in (pooled, found)]
    assert sums[0] > 1.1
    assert sums[1] == pytest.approx(1, abs=0.05)


def test_its_sets_keep_their_promise() -> None:
    training, validation, test = World(1, 6000), World(2, 3000), World(3, 4000)
    pooled = fit_calibration(*validation.held_out)
    found = with_head(pooled, training.lessons(pooled), validation.held_out)
    members = found.members(found.probability(test.table), 0.9)
    recall = (members & test.coded).sum(axis=1) / test.coded.sum(axis=1)
    assert recall.mean() == pytest.approx(0.9, abs=0.015)


def test_a_head_that_does_not_help_is_left_out() -> None:
    """Training stays whose scores say the opposite of what the validation stays say."""
    training, validation = World(1, 600, wrong=0), World(2, 600, wrong=0)
    pooled = fit_calibration(*validation.held_out)
    misleading = Ragged.from_lists([[int(row.argmin())] for row in training.eta])
    assert with_head(pooled, (training.lessons(pooled)[0], misleading), validation.held_out) is pooled


def test_slope_and_shift_are_those_of_half_precision() -> None:
    training, validation = World(1, 600), World(2, 600)
    pooled = fit_calibration(*validation.held_out)
    found = with_head(pooled, training.lessons(pooled), validation.held_out, half=True)
    assert found.head is not None
    for name, array in halved(found.arrays).items():
        assert np.array_equal(found.arrays[name], array)
    z = found.head.own(pooled.pooled(validation.table))
    assert slope_and_shift(z, validation.coded) == pytest.approx((found.head.slope, found.head.shift))


def test_slope_and_shift_undo_a_distortion() -> None:
    rng = np.random.default_rng(4)
    eta = rng.normal(-2, 1.5, (20_000, 5))
    coded = rng.random(eta.shape) < 1 / (1 + np.exp(-eta))
    assert slope_and_shift((eta - 1) / 2, coded) == pytest.approx((2, 1), abs=0.05)


def test_the_gradient_is_that_of_what_the_head_answers() -> None:
    rng = np.random.default_rng(0)
    eta, coded = rng.normal(-2, 2, (7, 5)).astype(np.float32), rng.random((7, 5)) < 0.3
    shapes = {"k": (5,), "a": (5,), "q": (5, 3), "W": (5, 3)}
    weights = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    procedures = Ragged(offsets_of(coded.sum(axis=1)), np.nonzero(coded)[1])
    asked = Ragged.from_lists([[1], [0, 2], [2], [0, 1, 3], [3], [2, 1], [0]])
    weights["E"] = rng.normal(size=(4, 3)).astype(np.float32)
    found = fit_head.gradient(weights, eta, procedures, asked)
    assert found.keys() == weights.keys()

    def surprise(name: str, step: Floats) -> float:
        moved = weights | {name: weights[name] + step}
        head = fit_head.Head.of({f"head_{of}": array for of, array in moved.items()})
        p = 1 / (1 + np.exp(-head.own(eta, told=told(moved["E"], asked))))
        return -float(np.log(np.where(coded, p, 1 - p)).sum())

    for name, slopes in found.items():
        way = rng.normal(size=slopes.shape).astype(np.float32)
        slope = (surprise(name, way / 128) - surprise(name, -way / 128)) * 64
        assert float((slopes * way).sum()) == pytest.approx(slope, rel=2e-3, abs=2e-3)


def test_the_same_stays_give_the_same_head() -> None:
    world = World(1, 700)
    first, again = (fit_head.fit_head(world.table.copy(), world.procedures) for _ in range(2))
    assert all(np.array_equal(first[name], again[name]) for name in first)


def test_too_many_stays_are_spread_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fitting_stays(10, 5).tolist() == [0, 1, 2, 3, 4]
    monkeypatch.setattr(fit_head, "MOST_PAIRS", 30)
    assert fitting_stays(10, 101).tolist() == [0, 50, 100]
    assert fitting_stays(1000, 101).tolist() == [0]


DIAGNOSES = (["428.0"], ["585.6"], ["427.5"])


@pytest.mark.parametrize("method", ["coupling", "popularity", "linear", "mlp"])
@pytest.mark.parametrize("stays", [12, 60])
@pytest.mark.parametrize("alone", [True, False])
def test_what_every_stay_has_is_probable(method: str, stays: int, alone: bool) -> None:
    """Also with twelve stays, and where it is the only procedure."""
    X = [DIAGNOSES[i % 3] for i in range(stays)]
    others = (["37.22"], ["38.93"], [])
    y = [["39.95"] if alone else ["39.95", *others[i % 3]] for i in range(stays)]
    trained = ProcedureRecommender(method, dim=8, epochs=3 if method == "coupling" else None).fit(X, y)
    p = trained.predict_proba(X)
    assert np.isfinite(p).all()
    assert p[:, list(trained.classes_).index("icd9pcs:3995")].min() > 0.9


@pytest.mark.parametrize("method", ["coupling", "mlp"])
def test_without_dropout_the_blurred_scores_are_the_scores(method: str) -> None:
    from dx2px.cohort import Cohort
    from dx2px.methods import recommender
    from dx2px.methods.coupling import CouplingModel
    from dx2px.methods.mlp import Mlp, MlpConfig

    X = [[f"icd9cm:{code}" for code in ("4280", "5856", "4275")[: 1 + i % 3]] for i in range(60)]
    y = [["icd9pcs:3995"] if i % 2 else ["icd9pcs:3722", "icd9pcs:3893"] for i in range(60)]
    cohort = Cohort.from_lists(X, y)
    if method == "mlp":
        mlp = Mlp(MlpConfig(losses=("bce",), dropout=0.0, higher=(), lower=(), hidden=8, epochs=2))
        model: CouplingModel | Mlp = mlp
    else:
        coupling = recommender("coupling", dim=8, epochs=2)
        assert isinstance(coupling, CouplingModel)
        still = replace(coupling.config.model, dropout=0.0)
        model = CouplingModel(replace(coupling.config, model=still))
    trained = learn(cohort, model, SplitConfig(by="stay"))
    stays = trained.stays("train")
    rows = stay_rows(trained.scorer, stays, "codes")
    blurred = model.blurred_scores(rows, torch.Generator().manual_seed(0))
    assert blurred == pytest.approx(model.scores(stays.diagnoses), abs=1e-5)


def test_where_procedures_are_very_many_the_factors_hear_the_common_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(seed=2, stays=60)
    monkeypatch.setattr(fit_head, "MANY", PROCEDURES)
    monkeypatch.setattr(fit_head, "HEARD", 5)
    procedures = Ragged.from_lists([np.flatnonzero(row) for row in world.coded])
    arrays = fit_head.fit_head(world.eta.astype(np.float32), procedures, steps=30)
    common = np.argsort(-world.coded.sum(axis=0), kind="stable")[:5]
    assert set(np.flatnonzero(arrays["head_W"].any(axis=1))) == set(common)
    assert arrays["head_q"].any(axis=1).all()
