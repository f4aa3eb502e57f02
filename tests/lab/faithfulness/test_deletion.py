"""Deletion and its curves on scores whose right answers can be written down."""

from __future__ import annotations

import numpy as np
import pytest

from dx2px.lab.bootstrap import Resamples
from dx2px.lab.faithfulness.attributions import attribute, attributions
from dx2px.lab.faithfulness.deletion import MOST, Targets, curves, deletions
from dx2px.lab.faithfulness.pairs import Pairs
from dx2px.ragged import Ragged


@pytest.fixture
def targets() -> Targets:
    rng = np.random.default_rng(0)
    diagnoses = Ragged.from_lists([rng.choice(12, n, replace=False) for n in (1, 2, 5, 6, 8, 3)])
    procedures = Ragged.from_lists([rng.choice(5, m, replace=False) for m in (2, 1, 2, 3, 1, 2)])
    pairs = Pairs(diagnoses, procedures)
    return Targets(pairs, pairs.widths > 1)


@pytest.fixture
def subject(additive):
    return additive(np.random.default_rng(1).normal(size=(12, 5)).astype(np.float32))


def log_probability(subject, codes, p: int) -> float:
    scores = subject.files.arrays["W"][codes].sum(0).astype(np.float64)
    return float(scores[p] - np.log(np.exp(scores).sum()))


def test_leave_one_out_is_the_largest_fall_and_random_the_mean(subject, targets) -> None:
    pairs = targets.pairs
    named = attribute(attributions(subject, None, 0), pairs)
    found = deletions(named, targets, Resamples.draw(6, 0))
    largest, means = [], []
    for entry in np.flatnonzero(targets.measured):
        codes, p = pairs.diagnoses[pairs.stay[entry]], pairs.procedures.values[entry]
        whole = log_probability(subject, codes, p)
        falls = [whole - log_probability(subject, np.delete(codes, k), p) for k in range(len(codes))]
        largest.append(max(falls))
        means.append(np.mean(falls))
    assert found["leave-one-out"].fall.value == pytest.approx(np.mean(largest), abs=1e-5)
    assert found["random"].fall.value == pytest.approx(np.mean(means), abs=1e-5)
    assert found["leave-one-out"].of_best.value == 1
    assert all(one.of_best.value <= 1 for one in found.values())


def test_curves_remove_and_keep_those_of_largest_attribution(subject, targets) -> None:
    pairs = targets.pairs
    values = np.random.default_rng(2).random(pairs.offsets[-1])
    found = curves(subject, {"some": values}, targets)["some"]
    entries = [e for e in np.flatnonzero(targets.measured) if pairs.widths[e] > MOST]
    assert entries
    for k in range(1, MOST + 1):
        lost, kept = [], []
        for e in entries:
            codes, p = pairs.diagnoses[pairs.stay[e]], pairs.procedures.values[e]
            order = np.argsort(-values[pairs.offsets[e] : pairs.offsets[e + 1]])
            whole = log_probability(subject, codes, p)
            lost.append(whole - log_probability(subject, codes[order[k:]], p))
            kept.append(whole - log_probability(subject, codes[order[:k]], p))
        assert found.comprehensiveness[k - 1] == pytest.approx(np.mean(lost), abs=1e-5)
        assert found.sufficiency[k - 1] == pytest.approx(np.mean(kept), abs=1e-5)


def test_stays_with_few_diagnoses_have_no_curves(subject) -> None:
    pairs = Pairs(Ragged.from_lists([[0, 1], [2]]), Ragged.from_lists([[0], [1]]))
    assert curves(subject, {"any": np.zeros(3)}, Targets(pairs, pairs.widths > 1)) == {}


def test_the_first_recommendation_is_measured_beside_its_list(subject) -> None:
    diagnoses = Ragged.from_lists([[0, 1], [2], [3, 4, 5]])
    targets = Targets.ranked_first(subject, diagnoses)
    scores = subject.scorer.scores(diagnoses)
    assert targets.pairs.procedures.lengths.tolist() == [5, 5, 5]
    measured = targets.pairs.procedures.values[targets.measured]
    assert measured.tolist() == [
        scores[0].argmax(),
        scores[2].argmax(),
    ]  # the stay of one diagnosis is left out
