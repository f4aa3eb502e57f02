"""Agreement between models, and of plans with other settings."""

from __future__ import annotations

import numpy as np
import pytest

from dx2px.lab.faithfulness.pairs import Pairs
from dx2px.lab.faithfulness.stability import (
    BETAS,
    STEPS,
    agreement,
    families,
    overlap,
    plan_settings,
    steadiness,
)
from dx2px.ragged import Ragged

ROWS = Ragged.from_lists([[0, 1, 2, 3], [4, 5], [1, 2, 6]])
PAIRS = Pairs(ROWS, Ragged.from_lists([[0, 1], [2], [3]]))


def test_agreement_is_within_stays_of_three_or_more() -> None:
    x = np.array([1.0, 2, 3, 4, 9, 1, 5, 6, 7])
    same = agreement(x, np.exp(x), ROWS)
    assert same is not None
    assert (same.spearman, same.kendall, same.first) == pytest.approx((1, 1, 1))
    turned = x.copy()
    turned[4:6] = turned[5:3:-1]  # of the stay of two: not looked at
    turned[6:] = turned[:5:-1]
    half = agreement(x, turned, ROWS)
    assert half is not None
    assert (half.spearman, half.kendall, half.first) == pytest.approx((0, 0, 0.5))


def test_weights_that_are_all_equal_agree_with_nothing() -> None:
    assert agreement(np.ones(9), np.arange(9.0), ROWS) is None


def test_overlap_of_shares() -> None:
    x = PAIRS.shares(np.random.default_rng(0).random(PAIRS.offsets[-1]))
    assert overlap(x, x, PAIRS).variation == 0
    assert overlap(x, x, PAIRS).first == 1
    one, other = (np.zeros(PAIRS.offsets[-1]) for _ in range(2))
    one[PAIRS.offsets[:-1]], other[PAIRS.offsets[:-1] + 1] = 1, 1
    apart = overlap(one, other, PAIRS)
    assert (apart.first, apart.variation) == (0, 1)


def test_a_model_agrees_with_itself_and_nearly_with_its_twin(world) -> None:
    rows = np.arange(100)
    pairs = Pairs(world.cohort.diagnoses.take(rows), world.cohort.procedures.take(rows))
    subjects = [world.subject(name) for name in ("default-0", "default-1", "paper", "relaxed")]
    found = families(subjects)
    assert {family: [s.name for s in members] for family, members in found.items()} == {
        "coupling": ["default-0", "default-1"]
    }
    alone = steadiness([subjects[0], subjects[0]], pairs)
    assert alone.significance is not None
    assert alone.significance.spearman == pytest.approx(1)
    assert alone.overlap["shares"].variation == 0
    twins = steadiness(subjects[:2], pairs)
    assert twins.significance is not None
    assert 0.5 < twins.significance.spearman < 1
    assert 0 < twins.overlap["shares"].variation < 0.3


def test_a_relaxed_model_is_a_family_of_its_own(world) -> None:
    assert world.subject("relaxed").family == "e+sa+ma (penalties 0, exact)"
    assert world.subject("paper").family == "e+sa+ma"


@pytest.mark.filterwarnings("ignore::dx2px.methods.paper.transport.ConvergenceWarning")
def test_more_steps_come_closer_to_the_default_plan(world) -> None:
    rows = np.arange(100)
    pairs = Pairs(world.cohort.diagnoses.take(rows), world.cohort.procedures.take(rows))
    found = {(s.beta, s.steps): s for s in plan_settings(world.subject("paper"), pairs, None)}
    assert len(found) == len(BETAS) * len(STEPS)
    assert (
        found[0.5, 100].overlap.variation < found[0.5, 5].overlap.variation < found[0.5, 1].overlap.variation
    )
    assert all(s.accuracy is None for s in found.values())
