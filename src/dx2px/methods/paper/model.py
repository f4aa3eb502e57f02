"""The paper's model and its variants, with what every method offers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

from numpy.typing import NDArray

from dx2px.errors import InputError
from dx2px.methods.initial import InitConfig
from dx2px.methods.paper.network import PaperConfig
from dx2px.methods.paper.settings import PaperTraining
from dx2px.methods.paper.transport import TransportConfig
from dx2px.training.learned import LearnedModel
from dx2px.training.loop import Weights
from dx2px.training.options import OF_TRAIN, loop_options

SELF_ATTENTION = frozenset({"heads"})  # options of one attention, then of the other
MUTUAL_ATTENTION = frozenset({"alpha", "diagnosis_penalty", "procedure_penalty", "entropy"})


class PaperModel(LearnedModel):
    """E+Pooling, E+SA, E+MA or E+SA+MA, by `config.model.variant`. Scores are what eq 1 takes the sigmoid of."""

    config: PaperTraining
    options: ClassVar[frozenset[str]] = OF_TRAIN | {"start"} | SELF_ATTENTION | MUTUAL_ATTENTION

    @classmethod
    def named(cls, method: str, **options: Any) -> Self:
        """A variant, with some of the options of `dx2px train`."""
        penalties = {name: options.pop(name, None) for name in ("diagnosis_penalty", "procedure_penalty")}
        entropy, start = options.pop("entropy", None), options.pop("start", None)
        init = InitConfig() if start is None else InitConfig(scale=start)
        loop, model, run = loop_options(method, options, {"dim", "heads", "alpha", "pooling"})
        variant: Any = method
        training = PaperTraining(
            model=PaperConfig(variant=variant, **model),
            init=init,
            transport=_transport(penalties, entropy),
            **loop,
        )
        return cls(training, **run)

    @classmethod
    def options_of(cls, method: str) -> frozenset[str]:
        """Without those of an attention that the variant does not have."""
        model = PaperConfig(variant=method)  # type: ignore[arg-type]
        without_sa = frozenset() if model.fusion == "self-attention" else SELF_ATTENTION
        return cls.options - without_sa - (frozenset() if model.mutual_attention else MUTUAL_ATTENTION)

    def _kept(self, weights: Weights) -> Mapping[str, NDArray[Any]]:
        return weights


def _transport(penalties: Mapping[str, float | None], entropy: float | None) -> TransportConfig:
    """The paper's transport, or one whose marginals may give way."""
    if all(price is None for price in penalties.values()):
        if entropy is not None:
            raise InputError(
                "An entropy has no effect on a transport without penalties: give one of them as well."
            )
        return TransportConfig()
    prices = penalties["diagnosis_penalty"], penalties["procedure_penalty"]
    config = TransportConfig(diagnosis_penalty=prices[0], procedure_penalty=prices[1])
    return config if entropy is None else replace(config, entropy=entropy)
