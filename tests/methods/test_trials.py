"""Choosing on validation: the first of equals, all trials recorded."""

from __future__ import annotations

from dx2px.methods.trials import Trial, choose


def test_the_first_of_the_best_is_chosen_and_all_are_told() -> None:
    told: list[str] = []
    trials = [Trial({"ridge": ridge}, f1, ridge) for ridge, f1 in ((3, 20.0), (2, 30.0), (1, 30.0))]
    choice = choose(trials, told.append)
    assert choice.best.learned == 2
    assert choice.tried[2] == {"ridge": 1, "validation_f1": 30.0}
    assert told[0] == "ridge 3, validation_f1 20.0"
