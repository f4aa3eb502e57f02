"""Measuring an audit: planted mistakes are what they say, and recall is counted right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import dx2px.lab.audit_study as module
from dx2px.answers import Model
from dx2px.answers.defects import AuditSettings
from dx2px.answers.flagging import NEVER, Flagger
from dx2px.cohort import Cohort, Ragged
from dx2px.lab.audit_study import AuditStudy, audit_study
from dx2px.lab.audit_subject import Strengths, recall_within
from dx2px.lab.planted_mistakes import KINDS, NONE, siblings
from dx2px.scoring.folder import ModelFiles
from synthetic_models import SIGMOID

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


def model(cohort: Cohort, kind: str) -> Model:
    """A linear model that knows the log odds of the rule by which stays are made, or one that knows nothing."""
    knows = kind == "knowing"
    arrays = {
        "W": np.eye(CODES, dtype=np.float32) * np.float32(knows * np.log(9 / 0.002)),
        "b": np.full(CODES, np.log(0.002 if knows else 0.3 / 0.7), np.float32),
        "seen": np.ones(CODES, np.float32),
        "popularity": np.full(CODES, 100, np.float32),
    }
    codes = cohort.diagnosis_vocabulary.codes, cohort.procedure_vocabulary.codes
    files = ModelFiles("linear", {}, *codes, arrays, pa.table({}), "", calibration=SIGMOID)
    return Model(replace(files, procedure_counts=[100] * CODES))


@pytest.fixture(scope="module")
def cohorts() -> tuple[Cohort, Cohort]:
    return planted(600, 0), planted(800, 1)


def study(kind: str, cohorts: tuple[Cohort, Cohort], seed: int = 0) -> AuditStudy:
    tested, training = cohorts
    return audit_study(model(tested, kind), tested, training, seed=seed)


@pytest.mark.parametrize("name", ["random", "another", "plausible"])
def test_added_procedures_are_new_to_the_stay(name: str, cohorts: tuple[Cohort, Cohort]) -> None:
    tested, training = cohorts
    made = KINDS[name](tested, training, np.random.default_rng(0))
    assert len(made.stay) > 590
    assert (made.kind, set(made.left_out.tolist())) == ("unsupported", {NONE})
    assert made.added.tolist() == made.procedure.tolist()
    for stay, procedure in zip(made.stay.tolist(), made.procedure.tolist(), strict=True):
        assert procedure not in tested.procedures[stay]


def test_removed_procedures_belong_to_stays_with_several(cohorts: tuple[Cohort, Cohort]) -> None:
    made = KINDS["removed"](*cohorts, np.random.default_rng(0))
    assert made.left_out.tolist() == made.procedure.tolist()
    for stay, procedure in zip(made.stay.tolist(), made.procedure.tolist(), strict=True):
        assert procedure in cohorts[0].procedures[stay]
        assert len(cohorts[0].procedures[stay]) > 1


def test_a_swap_replaces_a_procedure_by_a_sibling_that_excludes_it() -> None:
    """81.51 and 81.54 are siblings that no stay has both of; 81.53 is in stays with either."""
    hip, knee, revision = "icd9pcs:8151", "icd9pcs:8154", "icd9pcs:8153"
    procedures = [[hip], [knee], [hip, revision], [knee, revision]] * 20
    stays = Cohort.from_lists([["icd9cm:71535"]] * 80, procedures)
    index = stays.procedure_vocabulary.index
    assert np.argwhere(siblings(stays)).tolist() == [
        sorted([index(hip), index(knee)], reverse=way) for way in (False, True)
    ]
    made = KINDS["swapped"](stays, stays, np.random.default_rng(0))
    assert made.stay.tolist() == list(range(80))
    assert (made.left_out + made.added == index(hip) + index(knee)).all()
    changed = made.coded(stays.procedures.indicator(3))
    assert (changed.sum(axis=1) == stays.procedures.lengths).all()
    assert not changed[made.stay, made.procedure].any()


def test_a_diagnosis_that_is_left_out_explains_a_procedure(cohorts: tuple[Cohort, Cohort]) -> None:
    tested, training = cohorts
    principal = [tested.diagnosis_vocabulary[int(tested.diagnoses[stay][0])] for stay in range(len(tested))]
    tested = replace(tested, context=pa.table({"principal": principal}))
    made = KINDS["diagnosis"](tested, training, np.random.default_rng(0))
    assert (
        made.diagnosis == made.procedure
    ).mean() > 0.95  # each diagnosis brings the procedure of its number
    fewer = made.stays(tested)
    assert (fewer.diagnoses.lengths >= 1).all()
    assert fewer.context is not None
    named = fewer.context.column("principal").to_pylist()
    for stay, lost in zip(made.stay.tolist(), made.diagnosis.tolist(), strict=True):
        assert set(tested.diagnoses[stay]) - set(fewer.diagnoses[stay]) == {lost}
        assert (named[stay] is None) == (tested.diagnoses[stay][0] == lost)


def test_a_plausible_procedure_comes_from_the_most_similar_stay() -> None:
    tested = Cohort.from_lists([["icd9cm:4000", "icd9cm:4010"]], [["icd9pcs:3000"]])
    tested = replace(tested, procedure_vocabulary=(full := planted(50, 0)).procedure_vocabulary)
    tested = replace(tested, diagnosis_vocabulary=full.diagnosis_vocabulary)
    training = replace(
        full,
        diagnoses=Ragged.from_lists([[0, 1], [0, 1, 2], [5, 6]]),
        procedures=Ragged.from_lists([[0], [0, 4], [7]]),
    )
    made = KINDS["plausible"](tested, training, np.random.default_rng(0))
    assert (made.stay.tolist(), made.procedure.tolist()) == ([0], [4])  # the nearest stay has nothing new


def test_a_planted_mistake_is_as_strong_as_the_audit_says(
    cohorts: tuple[Cohort, Cohort], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The strengths that are compared are those of the findings that users get."""
    tested, training = cohorts
    compared: list[Strengths] = []

    def spy(clean: Strengths, planted: Strengths, per_100: float, weights: np.ndarray) -> float:
        compared.append(planted)
        return 0.0

    monkeypatch.setattr(module, "recall_within", spy)
    monkeypatch.setattr(module, "RESAMPLES", 1)
    knowing = model(tested, "knowing")
    audit_study(knowing, tested, training)
    made = KINDS["removed"](tested, training, np.random.default_rng([0, *b"removed"]))
    coded = Ragged.from_lists([np.flatnonzero(row) for row in made.coded(tested.procedures.indicator(CODES))])
    settings = AuditSettings(precision=1e-9, kinds=("omitted",))
    found = Flagger(knowing, settings).flag(knowing.scorer, tested.diagnoses, coded).found
    strength = {(s, p): x for s, p, x in zip(found.stay, found.procedure, found.strength, strict=True)}
    expected = [strength[place] for place in zip(made.stay, made.procedure, strict=True)]
    np.testing.assert_array_equal(compared[0].strength, expected)


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


def test_what_is_no_finding_is_never_found() -> None:
    """A model that knows no alternatives finds no swap, however large the budget."""
    none = Strengths(np.empty(0, np.int64), np.empty(0))
    assert recall_within(none, Strengths(np.arange(3), np.full(3, NEVER)), 10, np.ones(3)) == 0


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
    for defect in {one.defect for one in wise.recalls}:
        rising = [of[defect, budget].recall for budget in module.BUDGETS]
        assert rising == sorted(rising)


def test_findings_keep_the_stated_precision(
    cohorts: tuple[Cohort, Cohort], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RESAMPLES", 2)
    found = [p for p in study("knowing", cohorts).precisions if p.per_100 > 0.5]
    assert {p.kind for p in found} == {"unsupported", "omitted"}
    for one in found:
        assert one.measured is not None
        assert one.measured > one.stated - 0.03


def test_a_seed_decides_everything(cohorts: tuple[Cohort, Cohort], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RESAMPLES", 5)
    assert study("knowing", cohorts) == study("knowing", cohorts)
    assert study("knowing", cohorts, seed=1) != study("knowing", cohorts)
