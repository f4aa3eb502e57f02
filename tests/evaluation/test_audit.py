"""Measuring an audit: planted mistakes are what they say, and recall is counted right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dx2px.evaluation.audit as module
from dx2px.cohort import Cohort, Ragged
from dx2px.evaluation.audit import DEFECTS, Audited, AuditStudy, Strengths, audit_study, recall_within
from dx2px.model.calibration import Calibration, Curve

LINE = Curve(np.array([-20.0, 20.0]), np.array([-20.0, 20.0]))
SIGMOID = Calibration(
    False, LINE, np.array([1.0, 0.0, 0.0, 0.0]), LINE, np.array([0.5, 0.9]), np.array([0.9, 0.6])
)
CODES = 10


def planted(stays: int, seed: int) -> Cohort:
    """Each diagnosis brings the procedure of its number nine times in ten; some stays have a stray one."""
    rng = np.random.default_rng(seed)
    diagnoses, procedures = [], []
    for _ in range(stays):
        own = rng.choice(CODES, rng.integers(2, 5), replace=False)
        done = {int(code) for code in own if rng.random() < 0.9} | {int(own[0])}
        done |= {int(rng.integers(CODES))} if rng.random() < 0.02 else set()
        diagnoses.append([f"icd9cm:40{code}0" for code in own])
        procedures.append([f"icd9pcs:300{code}" for code in sorted(done)])
    return Cohort.from_lists(diagnoses, procedures)


def knowing(diagnoses: Ragged) -> np.ndarray:
    """The best scores there are: log odds of the rule by which stays are made."""
    has = np.zeros((len(diagnoses), CODES), np.bool_)
    has[diagnoses.row_of_entry, diagnoses.values] = True
    return np.where(has, np.log(9), np.log(0.002)).astype(np.float32)


def ignorant(diagnoses: Ragged) -> np.ndarray:
    return np.full((len(diagnoses), CODES), np.log(0.3 / 0.7), np.float32)


@pytest.fixture(scope="module")
def cohorts() -> tuple[Cohort, Cohort]:
    return planted(600, 0), planted(800, 1)


def study(method: str, cohorts: tuple[Cohort, Cohort], seed: int = 0) -> AuditStudy:
    scores = knowing if method == "knowing" else ignorant
    tested, training = cohorts
    return audit_study(Audited(method, scores, SIGMOID, [100] * CODES), tested, training, seed=seed)


@pytest.mark.parametrize("name", [name for name in DEFECTS if name != "removed"])
def test_added_procedures_are_new_to_the_stay(name: str, cohorts: tuple[Cohort, Cohort]) -> None:
    tested, training = cohorts
    stays, procedures = DEFECTS[name](tested, training, np.random.default_rng(0))
    assert len(stays) > 590
    for stay, procedure in zip(stays.tolist(), procedures.tolist(), strict=True):
        assert procedure not in tested.procedures[stay]


def test_removed_procedures_belong_to_stays_with_several(cohorts: tuple[Cohort, Cohort]) -> None:
    stays, procedures = DEFECTS["removed"](*cohorts, np.random.default_rng(0))
    for stay, procedure in zip(stays.tolist(), procedures.tolist(), strict=True):
        assert procedure in cohorts[0].procedures[stay]
        assert len(cohorts[0].procedures[stay]) > 1


def test_a_plausible_procedure_comes_from_the_most_similar_stay() -> None:
    tested = Cohort.from_lists([["icd9cm:4000", "icd9cm:4010"]], [["icd9pcs:3000"]])
    tested = replace(tested, procedure_vocabulary=(full := planted(50, 0)).procedure_vocabulary)
    tested = replace(tested, diagnosis_vocabulary=full.diagnosis_vocabulary)
    training = replace(
        full,
        diagnoses=Ragged.from_lists([[0, 1], [0, 1, 2], [5, 6]]),
        procedures=Ragged.from_lists([[0], [0, 4], [7]]),
    )
    stays, procedures = DEFECTS["plausible"](tested, training, np.random.default_rng(0))
    assert (stays.tolist(), procedures.tolist()) == ([0], [4])  # the nearest stay has nothing new


def test_recall_by_hand() -> None:
    """Ten stays, clean findings 0.9 … 0.1; a budget of 20 per 100 stays is two of them."""
    clean = Strengths(np.arange(9), np.arange(9, 0, -1) / 10)
    mistakes = Strengths(np.arange(4), np.array([0.95, 0.85, 0.81, 0.2]))
    assert recall_within(clean, mistakes, 20, np.ones(10)) == pytest.approx(3 / 4)
    assert recall_within(clean, mistakes, 10, np.ones(10)) == pytest.approx(1 / 4)
    assert recall_within(clean, mistakes, 100, np.ones(10)) == 1
    # The second stay counts twice: the budget of 1.1 reaches into its finding of 0.8, above which are four of five.
    twice = np.where(np.arange(10) == 1, 2.0, 1.0)
    assert recall_within(clean, mistakes, 10, twice) == pytest.approx(4 / 5)


def test_ties_are_shared_out() -> None:
    """A method that cannot tell finds as many as its budget lets it, by chance."""
    clean = Strengths(np.arange(100), np.full(100, 0.5))
    mistakes = Strengths(np.arange(100), np.full(100, 0.5))
    assert recall_within(clean, mistakes, 10, np.ones(100)) == pytest.approx(0.1)


def test_who_knows_finds_what_who_does_not_cannot(
    cohorts: tuple[Cohort, Cohort], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RESAMPLES", 40)
    wise, blind = study("knowing", cohorts), study("ignorant", cohorts)
    of = {(r.defect, r.per_100): r for r in wise.recalls}
    other = {(r.defect, r.per_100): r for r in blind.recalls}
    assert of["random", 5].recall > 60 > 10 > other["random", 5].recall
    assert of["another", 10].recall > 60
    assert all(one.low <= one.recall <= one.high for one in (*wise.recalls, *blind.recalls))
    for defect in DEFECTS:
        rising = [of[defect, budget].recall for budget in module.BUDGETS]
        assert rising == sorted(rising)


def test_findings_keep_the_stated_precision(
    cohorts: tuple[Cohort, Cohort], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RESAMPLES", 2)
    told = [p for p in study("knowing", cohorts).precisions if p.per_100 > 0.5]
    assert {p.kind for p in told} == {"unsupported", "missing"}
    for one in told:
        assert one.measured is not None
        assert one.measured > one.stated - 0.03


def test_a_seed_decides_everything(cohorts: tuple[Cohort, Cohort], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RESAMPLES", 5)
    assert study("knowing", cohorts) == study("knowing", cohorts)
    assert study("knowing", cohorts, seed=1) != study("knowing", cohorts)
