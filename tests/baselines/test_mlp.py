"""The perceptron: its formula, its losses, when it stops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dx2px.baselines import Mlp, MlpConfig
from dx2px.training.recommender import Recommender


def test_scores_follow_from_the_arrays_as_the_formula_reads(
    planted: Any, fitted: Callable[[str], Recommender]
) -> None:
    a = {name: array.astype(np.float64) for name, array in fitted("mlp").arrays().items()}
    scores = fitted("mlp").scores(planted.cohort.diagnoses)
    for row in (0, 5, 9):
        h = np.maximum(a["c"] + a["H"][planted.cohort.diagnoses[row]].sum(0), 0)
        np.testing.assert_allclose(scores[row], a["b"] + a["W"] @ h, atol=1e-4)


def test_every_combination_is_tried_and_stops_when_patience_ends(planted: Any) -> None:
    config = MlpConfig(
        ("softmax", "bce"), (0.0, 0.5), hidden=16, lr=0.03, batch_size=50, epochs=9, patience=2
    )
    settings = planted.fit(Mlp(config)).settings()
    tried = {(trial["loss"], trial["dropout"]) for trial in settings["tried"]}
    assert tried == {("softmax", 0.0), ("softmax", 0.5), ("bce", 0.0), ("bce", 0.5)}
    assert all(1 <= trial["epoch"] <= 9 for trial in settings["tried"])


def test_one_epoch_without_learning_ranks_by_frequency(planted: Any) -> None:
    """The constants hold the log odds; with weights near nothing, they decide."""
    config = MlpConfig(("bce",), (0.0,), hidden=4, init_scale=1e-6, lr=1e-9, epochs=1)
    scores = planted.fit(Mlp(config)).scores(planted.single)
    counts = planted.cohort.subset(planted.training).procedure_counts
    np.testing.assert_allclose(scores[0], np.log(counts / (len(planted.training) - counts)), atol=1e-3)
