"""A sample of the procedures stands for all of them: its rates, its sums, and what a model learns from it."""

from __future__ import annotations

import numpy as np
import pytest

from dx2px.methods.coupling import size
from dx2px.methods.coupling.sampling import Sampling
from dx2px.ragged import Ragged
from dx2px.scoring.selection import MANY, SAMPLE


@pytest.mark.parametrize("wanted", [1, 7, 60, 400])
def test_as_many_are_drawn_as_asked_for(wanted: int) -> None:
    shares = np.random.default_rng(0).pareto(1.0, 300) / 100
    rates = Sampling(shares, wanted).rates
    assert rates.sum() == pytest.approx(min(wanted, 300))
    assert ((rates > 0) & (rates <= 1)).all()
    even = (rates / np.sqrt(shares + 1e-6))[rates < 1]
    np.testing.assert_allclose(even, even[:1].repeat(len(even)))


def test_the_sum_over_the_sample_has_the_sum_over_all_as_its_mean() -> None:
    rng = np.random.default_rng(1)
    powers, shares, batch = rng.exponential(size=80), rng.random(80), Ragged.from_lists([[3, 40], [7]])
    sampling = Sampling(shares, 15)
    sums = []
    for step in range(4000):
        chosen = sampling.draw(batch, seed=0, step=step)
        assert (chosen.correction[chosen.places(batch.values)] == 0).all()
        sums.append((powers[chosen.codes] * np.exp(chosen.correction)).sum())
    assert np.mean(sums) == pytest.approx(powers.sum(), rel=0.02)


def test_places_of_what_is_not_chosen_are_marked() -> None:
    chosen = Sampling(np.full(9, 0.1), 2).draw(Ragged.from_lists([[8, 0]]), seed=0, step=3)
    assert {0, 8} <= set(chosen.codes.tolist())
    places = chosen.places(np.arange(9))
    assert chosen.codes[places[places >= 0]].tolist() == np.flatnonzero(places >= 0).tolist()
    assert np.count_nonzero(places >= 0) == len(chosen.codes)


def test_only_very_many_procedures_are_sampled() -> None:
    assert size.sample(975) is None
    assert size.sample(MANY) == SAMPLE
