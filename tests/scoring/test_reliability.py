"""Agreement of probabilities with what was coded, in cases that can be checked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dx2px.scoring.reliability import agreement


def test_the_expected_error_by_hand() -> None:
    p = np.array([0.1, 0.1, 0.8, 0.6])
    found = agreement(p, np.array([False, False, True, False]), bins=2)
    assert found.predicted == pytest.approx([0.1, 0.7])
    assert found.observed == pytest.approx([0.0, 0.5])
    assert found.ece == pytest.approx((0.1 + 0.2) / 2)


def test_the_slope_tells_too_sure_from_too_shy() -> None:
    rng = np.random.default_rng(0)
    eta = rng.normal(-2, 2, 100_000)
    coded = rng.random(len(eta)) < 1 / (1 + np.exp(-eta))
    for factor in (0.5, 1.0, 2.0):
        assert agreement(1 / (1 + np.exp(-factor * eta)), coded).slope == pytest.approx(1 / factor, rel=0.03)
    assert agreement(np.full(8, 0.5), np.arange(8) > 3).slope is None
