"""The study of probabilities in which every stay is a test stay once: `studies/rotation.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dx2px.cohort import Cohort
from scripts import loaded

STUDIES = Path(__file__).parents[1] / "studies"


def test_every_stay_is_tested_in_one_turn_and_never_learned_from_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(STUDIES)
    rotation = loaded(STUDIES / "rotation.py")
    cohort = Cohort.from_lists([["icd9cm:4280"]] * 100, [["icd9pcs:8872"]] * 100)
    tested = np.zeros(100, int)
    for part in range(5):
        split = rotation.Turn(fold=part, part=part).split(cohort)
        sizes = [len(rows) for rows in (split.test, split.validation(part), split.training(part))]
        assert sizes == [20, 8, 72]
        assert not set(split.test) & set(split.learning)
        tested[split.test] += 1
    assert (tested == 1).all()
