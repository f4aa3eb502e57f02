"""The default method, with what every method offers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray

from dx2px.methods.coupling.gradient import Compiled, can_compile
from dx2px.methods.coupling.network import CouplingConfig, CouplingNetwork
from dx2px.methods.coupling.settings import CouplingTraining
from dx2px.ragged import Ragged
from dx2px.scoring.segments import Floats
from dx2px.training.learned import LearnedModel
from dx2px.training.loop import Weights
from dx2px.training.options import OF_TRAIN, loop_options

_BLOCK = 512  # stays whose pairs are in memory together


class CouplingModel(LearnedModel):
    """A coupling of diagnoses with procedures for every stay; a score is the logarithm of a column's sum."""

    config: CouplingTraining
    options: ClassVar[frozenset[str]] = OF_TRAIN | {"evidence"}

    def __init__(self, config: CouplingTraining | None = None, **run: Any) -> None:
        super().__init__(config or CouplingTraining(), **run)

    @classmethod
    def named(cls, method: str, **options: Any) -> Self:
        """With some of the options of `dx2px train`."""
        loop, model, run = loop_options(method, options, {"dim", "evidence"})
        return cls(CouplingTraining(model=CouplingConfig(**model), **loop), **run)

    def _kept(self, weights: Weights) -> Mapping[str, NDArray[Any]]:
        """With the parts that categories share added to each code's own (`CouplingNetwork.arrays`)."""
        return {name: array.numpy() for name, array in self._network(weights).arrays().items()}

    def blurred_scores(self, rows: Ragged, generator: torch.Generator) -> Floats:
        """With the dropout of training."""
        network = self._network(self._learned.weights)
        scores = Compiled(network).scores if can_compile(network) else network.plain_scores
        return np.concatenate([scores(block, generator) for block in rows.blocks(_BLOCK)])  # (i, p)

    def _network(self, weights: Weights) -> CouplingNetwork:
        sizes = len(self.vocabularies[0]), len(self.vocabularies[1])
        categories = self.vocabularies[0].categories, self.vocabularies[1].categories
        network = CouplingNetwork(*sizes, self.config.model, categories, self.layout)
        network.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
        return network
