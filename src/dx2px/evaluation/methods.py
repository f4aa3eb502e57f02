"""Every method by its name: the paper's variants and all they are compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import get_args

from dx2px.baselines import BASELINES
from dx2px.errors import InputError
from dx2px.evaluation.paper import PaperModel
from dx2px.model.network import ModelConfig, Variant
from dx2px.training.config import TrainingConfig
from dx2px.training.recommender import Recommender

VARIANTS: tuple[Variant, ...] = get_args(Variant)


def _variant(variant: Variant) -> Recommender:
    return PaperModel(TrainingConfig(model=ModelConfig(variant=variant)))


METHODS: Mapping[str, Callable[[], Recommender]] = MappingProxyType(
    {**BASELINES, **{variant: partial(_variant, variant) for variant in VARIANTS}}
)


def method_named(name: str) -> Recommender:
    """A method with its default settings."""
    if name not in METHODS:
        raise InputError(f"There is no method {name!r}; choose from {', '.join(METHODS)}.")
    return METHODS[name]()
