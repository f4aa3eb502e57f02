"""What decides a run besides its stays: the settings its method starts with, compared with those of a kept run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dx2px.methods import learner_class, recommender
from dx2px.training.learned import LearnedModel
from dx2px.training.recommender import Recommender

# What runs did before a setting existed, where its default is something else.
EARLIER: Mapping[str, Mapping[str, Any]] = {
    "coupling": {"model": {"decay": 0.0}},
    "mlp": {"higher": []},
    "dwl": {"rule": "euclidean"},
}


def method_with(name: str, model: Mapping[str, Any]) -> Recommender:
    """A method as a job asks for it: with its defaults, but for the given settings.

    The published comparison is about sets of diagnoses: a method that takes more evidence gets it only if asked to.
    """
    alone = {"evidence": "codes"} if "evidence" in learner_class(name).options_of(name) else {}
    return recommender(name, **alone | dict(model))


def configured(name: str, model: Mapping[str, Any], seed: int, stays: int) -> dict[str, Any]:
    """The settings before learning from this number of stays, as a record keeps them."""
    method = method_with(name, model)
    if isinstance(method, LearnedModel):
        return _plain(method.settings_for(stays, seed))
    return _plain(method.initial_settings(seed))


def unsaid(name: str, seed: int, stays: int) -> dict[str, Any]:
    """The settings that a record stands for where it does not name them, because they are newer than the run."""
    return _over(configured(name, {}, seed, stays), EARLIER.get(name, {}))


def same_settings(asked: Mapping[str, Any], unsaid: Mapping[str, Any], kept: Mapping[str, Any]) -> bool:
    """Whether a kept run had the settings asked for; where it does not name one, the `unsaid` one counts.

    A record also holds what validation chose; that is not compared.
    """
    for name, value in asked.items():
        default = unsaid.get(name)
        if isinstance(value, Mapping):
            within = kept.get(name, {})
            if not isinstance(within, Mapping) or not same_settings(value, default or {}, within):
                return False
        elif kept.get(name, default) != value:
            return False
    return True


def _over(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with some changed, at any depth."""
    return {
        name: _over(value, changes.get(name, {})) if isinstance(value, Mapping) else changes.get(name, value)
        for name, value in settings.items()
    }


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """As JSON gives them back."""
    found: dict[str, Any] = json.loads(json.dumps(settings))
    return found
