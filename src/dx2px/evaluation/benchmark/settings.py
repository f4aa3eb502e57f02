"""What decides a run beside its stays: the settings its method starts with, compared with those a kept run had."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass, replace
from typing import Any

from dx2px.evaluation.learned import LearnedModel
from dx2px.evaluation.methods import VARIANTS, method_named
from dx2px.evaluation.paper import PaperModel
from dx2px.model.network import ModelConfig
from dx2px.training.config import TrainingConfig
from dx2px.training.recommender import Recommender

# What runs did before a setting existed, where its default is something else.
EARLIER: Mapping[str, Mapping[str, Any]] = {"coupling": {"model": {"decay": 0.0}}, "mlp": {"higher": []}}


def method_with(name: str, model: Mapping[str, Any]) -> Recommender:
    """A method as a job asks for it: with its defaults, but for the given settings of the paper's model."""
    if name not in VARIANTS or not model:
        return method_named(name)
    return PaperModel(TrainingConfig(model=replace(ModelConfig(variant=name), **model)))


def configured(name: str, model: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The settings before learning, as a record keeps them."""
    method = method_with(name, model)
    if isinstance(method, LearnedModel):
        return _plain(method.config.with_seed(seed).to_dict())
    config = getattr(method, "config", None)  # popularity has nothing to set
    return _plain(asdict(config)) if is_dataclass(config) and not isinstance(config, type) else {}


def unsaid(name: str, seed: int) -> dict[str, Any]:
    """The settings that a record of a method stands for where it does not say them: they came later than the run."""
    return _over(configured(name, {}, seed), EARLIER.get(name, {}))


def same_settings(asked: Mapping[str, Any], unsaid: Mapping[str, Any], kept: Mapping[str, Any]) -> bool:
    """Whether a kept run had the settings asked for; of those that it does not say it had the `unsaid` ones.

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
