"""Co-occurrence: the formula by hand, and what its grid records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dx2px.methods.cooccurrence import frequencies
from dx2px.methods.counts import Counts
from dx2px.training.recommender import Recommender

# Ten stays: diagnosis 0 in four of them, 1 in eight; procedure 0 in five, 1 in none.
COUNTS = Counts(10, np.array([4.0, 8.0]), np.array([5.0, 0.0]), np.array([[4.0, 0.0], [2.0, 0.0]]))


def test_smoothed_shares_by_hand() -> None:
    q = frequencies(COUNTS, "mean", 2.0)
    np.testing.assert_allclose(q, [[(4 + 2 * 0.5) / 6, 0], [(2 + 1) / 10, 0]], rtol=1e-6)
    logs = frequencies(COUNTS, "log", 2.0)
    np.testing.assert_allclose(logs[:, 0], np.log([5 / 6, 0.3]), rtol=1e-6)
    assert np.isfinite(logs).all()
    assert (logs[:, 1] < logs[:, 0]).all()


@pytest.mark.parametrize("form", ["mean", "log"])
def test_more_smoothing_moves_every_diagnosis_towards_the_shares(form: Any) -> None:
    wide, narrow = (frequencies(COUNTS, form, delta)[:, 0] for delta in (0.1, 1e6))
    assert np.ptp(narrow) < 1e-3 < np.ptp(wide)


def test_the_whole_grid_is_recorded_and_its_best_chosen(fitted: Callable[[str], Recommender]) -> None:
    settings = fitted("cooccurrence").settings()
    assert len(settings["tried"]) == 12
    assert settings["chosen"]["validation_f1"] == max(trial["validation_f1"] for trial in settings["tried"])
