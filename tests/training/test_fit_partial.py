"""Probabilities of questions that name a part of a stay's diagnoses, fitted to stays whose rule is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from dx2px.cohort import Cohort, Ragged
from dx2px.scoring.calibration_record import from_record, to_record
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.head import COMPLETION, PARTIAL, Head
from dx2px.scoring.segments import Floats
from dx2px.training.fit_completion import some_coded
from dx2px.training.fit_correction import fit_correction
from dx2px.training.fit_partial import part_of, some_diagnoses
from synthetic_models import SIGMOID

HEART, KIDNEY = "icd9cm:4280", "icd9cm:5856"
ECHO, DIALYSIS, BLOOD = range(3)
SHARE = 0.9


def stays(number: int) -> Cohort:
    """All have heart failure and, nine in ten, an echo; three in four renal failure, and then likewise dialysis."""
    rng = np.random.default_rng(0)
    kidney = rng.random(number) < 0.75
    diagnoses = [[HEART, *([KIDNEY] if one else [])] for one in kidney]
    echo, dialysis = rng.random(number) < SHARE, kidney & (rng.random(number) < SHARE)
    procedures = [
        ["icd9pcs:8872" if one else "icd9pcs:9904", *(["icd9pcs:3995"] if two else [])]
        for one, two in zip(echo, dialysis, strict=True)
    ]
    return Cohort.from_lists(diagnoses, procedures)


def right_about_whole_stays(rows: Ragged) -> Floats:
    scores = np.full((len(rows), 3), np.log(SHARE / (1 - SHARE)), np.float32)
    scores[:, [DIALYSIS, BLOOD]] *= -1
    scores[rows.indicator(2)[:, 1], DIALYSIS] *= -1
    return scores


def test_from_one_to_all_diagnoses_are_asked_and_every_procedure_is_to_be_found() -> None:
    cohort = stays(4000)
    shown = some_diagnoses(None)(cohort, np.random.default_rng(1))
    two = cohort.diagnoses.lengths == 2
    one = 3000 * np.log(2) / np.log(3)
    assert np.bincount(shown.known.lengths[two]).tolist() == pytest.approx([0, one, 3000 - one], abs=150)
    assert shown.known == shown.rows
    assert shown.left == cohort.procedures
    assert not shown.coded.values.size


def test_a_principal_diagnosis_that_is_not_asked_is_not_told() -> None:
    layout = EvidenceLayout(2, 3, principal=True)
    cohort = replace(stays(2), context=pa.table({"principal": [HEART, HEART], "age": [70, 70]}))
    asked = Ragged.from_lists([[0], [1]])
    told = part_of(layout, cohort, asked, np.ones((2, 4), bool))
    assert [sorted(set(row.tolist()) & {2, 3}) for row in (told[0], told[1])] == [[2], []]
    assert part_of(layout, cohort, asked, np.zeros((2, 4), bool)) == layout.rows(asked)


def test_what_a_question_leaves_out_counts_as_possible() -> None:
    cohort = stays(8000)
    learned = right_about_whole_stays, cohort
    partial = fit_correction(SIGMOID, some_diagnoses(None), PARTIAL, learned, learned)
    stage = replace(SIGMOID, partial=partial, partial_thresholds=SIGMOID.thresholds)
    asked = right_about_whole_stays(Ragged.from_lists([[0], [0, 1]]))
    p = stage.of_question(asked, Ragged.from_lists([[0], [0, 1]]))
    hidden = 0.75 / 2 * np.log(2) / np.log(3)  # with both, this share is asked with heart failure alone
    dialysis = hidden * SHARE / (0.25 + hidden)
    assert p[0, DIALYSIS] == pytest.approx(dialysis, abs=0.12)
    assert p[1, [ECHO, DIALYSIS]] == pytest.approx([SHARE, SHARE], abs=0.02)
    assert stage.probability(asked)[0, DIALYSIS] == pytest.approx(1 - SHARE)
    coded = np.array([[-np.inf, 1.0, 0.0]])
    np.testing.assert_array_equal(stage.of_question(coded, Ragged.of_one([0])), stage.probability(coded))
    assert stage.threshold(0.9, question=True) == stage.threshold(0.9)


def test_it_comes_back_from_a_record_with_its_thresholds() -> None:
    partial = fit_correction(
        SIGMOID, some_diagnoses(None), PARTIAL, *[(right_about_whole_stays, stays(400))] * 2
    )
    thresholds = SIGMOID.thresholds / 2
    record = to_record(replace(SIGMOID, partial=partial, partial_thresholds=thresholds))
    again = from_record(record, {})
    assert again.partial is not None
    assert again.partial.numbers == partial.numbers
    assert again.threshold(0.9, question=True) == thresholds[again.coverages.searchsorted(0.9)]
    for name, broken in (("partial", [1.0]), ("partial", [-1.0, 0.0, 0.0]), ("partial_thresholds", [0.1])):
        with pytest.raises(ValueError, match=r"partial|threshold"):
            from_record(record | {name: broken}, {})
    with pytest.raises(ValueError, match="partial"):
        from_record({name: one for name, one in record.items() if name != "partial_thresholds"}, {})


def alike(number: int) -> Cohort:
    """A lone diagnosis 4280 or 5856, with an echo in one of ten stays or in nine."""
    rng = np.random.default_rng(0)
    decisive = rng.random(number) < 0.5
    echo = rng.random(number) < np.where(decisive, 0.9, 0.1)
    diagnoses = [[KIDNEY if one else HEART] for one in decisive]
    return Cohort.from_lists(diagnoses, [["icd9pcs:8872" if one else "icd9pcs:9904"] for one in echo])


def test_the_head_is_told_which_diagnoses_are_asked() -> None:
    cohort = alike(4000)
    learned = (lambda rows: np.zeros((len(rows), 2), np.float32)), cohort  # says the same of both
    zeros = np.zeros(2, np.float32)
    stage = replace(SIGMOID, head=Head(zeros + 1, zeros, zeros[:, None], zeros[:, None], 1.0, 0.0))
    partial = fit_correction(stage, some_diagnoses(None), PARTIAL, learned, learned, diagnoses=2)
    both = replace(stage, partial=partial, partial_thresholds=stage.thresholds)
    asked = Ragged.from_lists([[0], [1]])
    p = both.of_question(np.zeros((2, 2)), asked)
    assert p[:, cohort.procedure_vocabulary.get("icd9pcs:8872")] == pytest.approx([0.1, 0.9], abs=0.03)
    again = from_record(to_record(both), both.arrays)
    np.testing.assert_array_equal(again.of_question(np.zeros((2, 2)), asked), p)
    arrays = {name: one for name, one in both.arrays.items() if name != "partial_E"}
    first, second = from_record(to_record(both), arrays).of_question(np.zeros((2, 2)), asked)
    np.testing.assert_array_equal(first, second)
    with pytest.raises(ValueError, match="head"):
        from_record(to_record(SIGMOID), {"partial_E": both.arrays["partial_E"]})


def test_where_the_only_procedure_is_coded_nothing_is_asked() -> None:
    single = Cohort.from_lists([[HEART]] * 20, [["icd9pcs:8872"]] * 20)
    show = some_coded(EvidenceLayout(1, 1))
    learned = (lambda rows: np.full((len(rows), 1), -np.inf)), single
    found = fit_correction(SIGMOID, show, COMPLETION, learned, learned)
    assert found.numbers == [1.0, 0.0, 0.0]
