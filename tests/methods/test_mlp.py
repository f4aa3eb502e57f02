"""The perceptron: its formula, its losses, when it stops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dx2px.methods.mlp import Mlp, MlpConfig, _walk
from dx2px.methods.trials import Trial
from dx2px.training.recommender import Recommender


def test_scores_follow_from_the_arrays_as_the_formula_reads(
    planted: Any, fitted: Callable[[str], Recommender]
) -> None:
    a = {name: array.astype(np.float64) for name, array in fitted("mlp").arrays().items()}
    scores = fitted("mlp").scores(planted.cohort.diagnoses)
    for row in (0, 5, 9):
        h = np.maximum(a["c"] + a["H"][planted.cohort.diagnoses[row]].sum(0), 0)
        np.testing.assert_allclose(scores[row], a["b"] + a["W"] @ h, atol=1e-4)


def test_what_was_tried_is_told_and_stops_when_patience_ends(planted: Any) -> None:
    config = MlpConfig(
        ("softmax", "bce"), 0.3, (0.6,), (0.0,), hidden=16, lr=0.03, batch_size=50, epochs=9, patience=2
    )
    settings = planted.fit(Mlp(config)).settings()
    tried = [(trial["loss"], trial["dropout"]) for trial in settings["tried"]]
    assert tried[:2] == [("softmax", 0.3), ("bce", 0.3)]
    assert 3 <= len(tried) <= 4
    assert all(1 <= trial["epoch"] <= 9 for trial in settings["tried"])
    best = max(settings["tried"], key=lambda trial: trial["validation_f1"])
    assert settings["chosen"] == best


@pytest.mark.parametrize(
    ("f1", "expected"),
    [
        ({0.5: 5, 0.7: 6, 0.8: 7, 0.3: 9, 0.1: 9}, [0.5, 0.5, 0.7, 0.8]),
        ({0.5: 5, 0.7: 6, 0.8: 5, 0.3: 9, 0.1: 9}, [0.5, 0.5, 0.7, 0.8]),
        ({0.5: 5, 0.7: 5, 0.8: 9, 0.3: 6, 0.1: 7}, [0.5, 0.5, 0.7, 0.3, 0.1]),
        ({0.5: 5, 0.7: 4, 0.8: 9, 0.3: 3, 0.1: 9}, [0.5, 0.5, 0.7, 0.3]),
    ],
)
def test_dropouts_are_tried_upwards_while_they_help_or_else_downwards(
    f1: dict[float, float], expected: list[float]
) -> None:
    def tried(loss: str, drop: float) -> Trial[None]:
        return Trial({"loss": loss, "dropout": drop}, f1[drop] + (loss == "bce"), None)

    trials = [trial.settings for trial in _walk(MlpConfig(), tried)]
    assert [trial["dropout"] for trial in trials] == expected
    assert [trial["loss"] for trial in trials] == ["softmax", *["bce"] * (len(expected) - 1)]


def test_one_epoch_without_learning_ranks_by_frequency(planted: Any) -> None:
    """The constants hold the log odds; with weights near nothing, they decide."""
    config = MlpConfig(("bce",), 0.0, (), (), hidden=4, init_scale=1e-6, lr=1e-9, epochs=1)
    scores = planted.fit(Mlp(config)).scores(planted.single)
    counts = planted.cohort.subset(planted.training).procedure_counts
    np.testing.assert_allclose(scores[0], np.log(counts / (len(planted.training) - counts)), atol=1e-3)
