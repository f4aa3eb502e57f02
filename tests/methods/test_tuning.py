"""Tuning: where the search goes, what it chooses, and which epoch a method keeps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dx2px import InputError
from dx2px.methods import recommender
from dx2px.methods.baseline import Task
from dx2px.methods.initial import vectors
from dx2px.methods.tuning import RATES, Trial, best_trial, check_tunable, judged, next_trial
from dx2px.methods.word2vec import Word2Vec, Word2VecConfig, learn


def searched(f1: dict[tuple[float, float], float]) -> tuple[list[Trial], Trial]:
    """The trials in the order of the search, and its choice."""
    known: dict[Trial, float] = {}
    while (trial := next_trial(known)) is not None:
        known[trial] = f1[trial]
    return list(known), best_trial(known)


def test_the_rate_goes_up_while_it_helps_then_the_start_goes_up_or_down() -> None:
    f1 = {(0.001, 0.1): 30.0, (0.003, 0.1): 33.0, (0.01, 0.1): 32.0}
    higher = f1 | {(0.003, 0.3): 34.0, (0.003, 1.0): 31.0}
    assert searched(higher) == (list(higher), Trial(0.003, 0.3))
    lower = f1 | {(0.003, 0.3): 33.0, (0.003, 0.03): 35.0}
    assert searched(lower) == (list(lower), Trial(0.003, 0.03))
    fastest = {(rate, 0.1): float(n) for n, rate in enumerate(RATES)} | {(0.03, 0.3): 0, (0.03, 0.03): 0}
    assert searched(fastest) == (list(fastest), Trial(0.03, 0.1))


def test_without_a_gain_the_usual_settings_stay() -> None:
    f1 = {(0.001, 0.1): 30.0, (0.003, 0.1): 30.0, (0.001, 0.3): 29.0, (0.001, 0.03): 30.0}
    assert searched(f1) == (list(f1), Trial(0.001, 0.1))
    assert judged({1: 40.0, 3: 30.0, 5: 20.0, 10: 10.0}) == 25.0


def test_a_method_without_these_settings_is_refused_with_those_that_have_them() -> None:
    for method in ("word2vec", "bpr", "e+pooling", "e+sa+ma"):
        check_tunable(method)
    with pytest.raises(InputError, match="coupling has nothing to tune; those that have: word2vec, bpr, e"):
        check_tunable("coupling")


def test_the_settings_of_a_trial_reach_the_method() -> None:
    for method in ("word2vec", "bpr", "e+sa"):
        settings = recommender(method, **Trial(0.01, 0.3).options).initial_settings(0)
        assert settings["init"]["scale"] == 0.3
        assert settings.get("lr") == 0.01 or settings["adam"]["lr"] == 0.01
        assert (settings["epochs"], settings["patience"]) == (40, 5)
    with pytest.raises(InputError, match="epochs must be at least 1, not 0"):
        recommender("bpr", epochs=0)
    with pytest.raises(InputError, match="word2vec has no setting heads"):
        recommender("word2vec", heads=2)


def test_with_patience_the_best_epoch_on_validation_is_kept(planted: Any) -> None:
    config = Word2VecConfig(dim=8, lr=0.05, epochs=30, patience=4)
    task = Task("word2vec", planted.cohort, planted.training, planted.validation)
    after = [{name: X.copy() for name, X in vectors(each).items()} for each in learn(config, task)]
    f1 = [task.f1(own) for own in after]
    best = next(n for n in range(30) if max(f1[n : n + 5]) == f1[n])  # nothing better in the next four
    method = planted.fit(Word2Vec(config))
    assert method.settings()["epoch"] == best + 1
    assert np.array_equal(method.arrays()["U"], after[best]["U"])
    last = planted.fit(Word2Vec(replace(config, patience=None)))
    assert np.array_equal(last.arrays()["U"], after[-1]["U"])
