"""Every method by its name: the default one, the paper's variants and all they are compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, get_args

from dx2px.baselines import BASELINES
from dx2px.errors import InputError
from dx2px.evaluation.coupling import CouplingModel
from dx2px.evaluation.learned import LearnedModel
from dx2px.evaluation.paper import PaperModel
from dx2px.model.adam import AdamConfig
from dx2px.model.coupling import CouplingConfig
from dx2px.model.network import ModelConfig, Variant
from dx2px.training.config import CouplingTraining, LoopConfig, TrainingConfig
from dx2px.training.recommender import Recommender

DEFAULT = "coupling"
VARIANTS: tuple[Variant, ...] = get_args(Variant)
LEARNED = (*VARIANTS, DEFAULT)  # by the training loop: with checkpoints, curves and settings of their own
_TRANSPORT = ("alpha", "diagnosis_penalty", "procedure_penalty", "entropy")


def foreign_settings(method: str) -> tuple[str, ...]:
    """Settings of the paper's two attentions that change nothing in a method: those of an attention it lacks."""
    heads = () if method in ("e+sa", "e+sa+ma") else ("heads",)
    return heads + (() if method in ("e+ma", "e+sa+ma") else _TRANSPORT)


def _variant(variant: Variant) -> Recommender:
    return PaperModel(TrainingConfig(model=ModelConfig(variant=variant)))


METHODS: Mapping[str, Callable[[], Recommender]] = MappingProxyType(
    {
        **BASELINES,
        **{variant: partial(_variant, variant) for variant in VARIANTS},
        DEFAULT: CouplingModel,
    }
)


def method_named(name: str) -> Recommender:
    """A method with its default settings."""
    if name not in METHODS:
        raise InputError(f"There is no method {name!r}; choose from {', '.join(METHODS)}.")
    return METHODS[name]()


def loop_settings(
    method: str, *, dim: int, heads: int, alpha: float, lr: float | None = None, **loop: Any
) -> LoopConfig:
    """The settings of a run of the training loop; what is None is the method's own default."""
    given = {name: value for name, value in loop.items() if value is not None}
    if lr is not None:
        given["adam"] = AdamConfig(lr=lr)
    if method == DEFAULT:
        return CouplingTraining(model=CouplingConfig(dim=dim), **given)
    variant: Any = method
    return TrainingConfig(model=ModelConfig(variant=variant, dim=dim, heads=heads, alpha=alpha), **given)


def learned_by(config: LoopConfig, **surroundings: Any) -> LearnedModel:
    """The model that a run with these settings learns; `surroundings` are those of `LearnedModel`."""
    if isinstance(config, CouplingTraining):
        return CouplingModel(config, **surroundings)
    return PaperModel(config, **surroundings)
