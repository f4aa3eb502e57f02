"""Cause recovery: what knows the answer is right, what knows nothing is at chance."""

from __future__ import annotations

import numpy as np
import pytest

from dx2px.lab.bootstrap import Resamples
from dx2px.lab.faithfulness.attributions import attribute, attributions
from dx2px.lab.faithfulness.planted import Planted

ROWS = np.arange(10, 410)


@pytest.fixture(scope="module")
def planted(world) -> Planted:
    return Planted.of(world.truth, world.cohort, ROWS)


@pytest.fixture(scope="module")
def resamples() -> Resamples:
    return Resamples.draw(len(ROWS), 0)


def test_the_truth_is_read_entry_by_entry(world, planted) -> None:
    first = world.cohort.procedures.offsets[ROWS[0]]
    for entry in range(60):
        part = slice(planted.pairs.offsets[entry], planted.pairs.offsets[entry + 1])
        cause = world.truth.cause[first + entry]
        codes = planted.pairs.diagnoses.values[planted.pairs.source[part]]
        assert (codes[planted.cause[part]] == cause).all()
        assert planted.explained[entry] == (cause >= 0) == planted.cause[part].any()
        whole = planted.posterior[part].sum() + world.truth.unexplained[first + entry]
        assert whole == pytest.approx(1, abs=1e-5)


def test_the_yardstick_agrees_with_the_truths_own_measure(world, resamples) -> None:
    everything = Planted.of(world.truth, world.cohort, np.arange(len(world.cohort)))
    right = everything.right(everything.posterior)[everything.explained]
    assert right.mean() == pytest.approx(world.truth.top1_accuracy(world.truth.posterior))


def test_knowing_the_cause_is_perfect_and_knowing_nothing_is_chance(planted, resamples) -> None:
    widths = planted.pairs.widths[planted.explained]
    named = {"oracle": planted.cause.astype(float), "flat": np.ones(len(planted.cause))}
    found = planted.recovery(named, resamples)
    assert (found["oracle"].accuracy.value, found["oracle"].pr.value) == pytest.approx((1, 1))
    assert found["oracle"].of_posterior.low > 1
    assert found["flat"].accuracy.value == pytest.approx((1 / widths).mean())
    assert found["posterior"].of_posterior.value == 1
    assert found["flat"].over_lift is None


def test_what_is_over_lift_is_counted_in_the_same_stays(planted, resamples) -> None:
    named = {"oracle": planted.cause.astype(float), "lift": np.ones(len(planted.cause))}
    found = planted.recovery(named, resamples)
    gain = found["oracle"].accuracy.value - found["lift"].accuracy.value
    assert found["oracle"].over_lift.value == pytest.approx(gain)
    assert found["lift"].over_lift.high == 0


def test_weights_that_mark_the_causes_put_them_first(planted, resamples) -> None:
    marked = np.bincount(planted.pairs.source[planted.cause], minlength=len(planted.pairs.diagnoses.values))
    perfect, flat = (planted.causes_first(w.astype(float), resamples) for w in (marked, np.ones(len(marked))))
    assert (perfect.ahead.value, perfect.first.value) == (1, 1)
    assert flat.ahead.value == 0.5
    sticks = {name: planted.causes_first(w, resamples) for name, w in planted.yardsticks().items()}
    assert sticks["posterior"].ahead.value > sticks["expected calls"].ahead.value > 0.7


@pytest.mark.filterwarnings("ignore::dx2px.methods.paper.transport.ConvergenceWarning")
def test_the_default_explains_better_than_the_papers_plan(world, planted, resamples) -> None:
    ours, theirs = (attributions(world.subject(name), None, 0) for name in ("default-0", "paper"))
    values = attribute({name: ours[name] for name in ("shares", "random")}, planted.pairs)
    values |= attribute({name: theirs[name] for name in ("plan", "semi-relaxed plan")}, planted.pairs)
    found = planted.recovery(values, resamples)
    assert found["shares"].of_posterior.value > 0.9
    assert found["shares"].accuracy.low > found["plan"].accuracy.high
    assert found["semi-relaxed plan"].accuracy.low > found["plan"].accuracy.high
    assert found["plan"].accuracy.low > found["random"].accuracy.high
