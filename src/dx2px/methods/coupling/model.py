"""The default method, with what every method offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray

from dx2px.cohort import Cohort
from dx2px.methods.coupling.beside import fit_levels
from dx2px.methods.coupling.gradient import Compiled, can_compile
from dx2px.methods.coupling.network import CouplingConfig, CouplingNetwork
from dx2px.methods.coupling.settings import CouplingTraining
from dx2px.ragged import Ragged
from dx2px.scoring.beside import CodedLevels
from dx2px.scoring.segments import Floats
from dx2px.training.fit_head import fitting_stays
from dx2px.training.learned import LearnedModel
from dx2px.training.loop import Outcome, Weights
from dx2px.training.options import OF_TRAIN, loop_options
from dx2px.training.stays import TrainingStays

_BLOCK = 512  # stays whose pairs are in memory together


class CouplingModel(LearnedModel):
    """A coupling of diagnoses with procedures for every stay; a score is the logarithm of a column's sum."""

    config: CouplingTraining
    options: ClassVar[frozenset[str]] = OF_TRAIN | {"evidence"}

    def __init__(self, config: CouplingTraining | None = None, **run: Any) -> None:
        super().__init__(config or CouplingTraining(), **run)
        self.levels: CodedLevels | None = None  # what coded procedures do to those of the others
        self._blurring: tuple[Outcome, Callable[[Ragged, torch.Generator], Floats]] | None = None

    @classmethod
    def named(cls, method: str, **options: Any) -> Self:
        """With some of the options of `dx2px train`."""
        loop, model, run = loop_options(method, options, {"dim", "evidence"})
        return cls(CouplingTraining(model=CouplingConfig(**model), **loop), **run)

    def fit_stays(self, stays: TrainingStays, held_out: Cohort, *, seed: int = 0) -> Self:
        """Learn the network, and then what coded procedures do to the levels of the others."""
        self.levels = None
        super().fit_stays(stays, held_out, seed=seed)
        if self._learned.finished:
            self.levels = self._fitted_levels(stays, held_out)
        return self

    def _fitted_levels(self, stays: TrainingStays, held_out: Cohort) -> CodedLevels | None:
        """None for a network that has never seen a procedure as coded."""
        if self.layout is None or not self.config.model.withheld.coded:
            return None
        generator = torch.Generator().manual_seed(0)
        lessons = stays.subset(fitting_stays(self.layout.procedures, len(stays)))
        return fit_levels(
            self.layout,
            (lambda rows: self.blurred_scores(rows, generator), lessons),
            (self.scorer().scores, held_out),
            balance=self.config.model.balance,
            half=self.half,
        )

    def _kept(self, weights: Weights) -> Mapping[str, NDArray[Any]]:
        """With the parts that categories share added to each code's own (`CouplingNetwork.arrays`)."""
        found = {name: array.numpy() for name, array in self._network(weights).arrays().items()}
        return found if self.levels is None else found | self.levels.arrays

    def blurred_scores(self, rows: Ragged, generator: torch.Generator) -> Floats:
        """With the dropout of training."""
        if (
            self._blurring is None or self._blurring[0] is not self._learned
        ):  # calibration asks in many blocks
            network = self._network(self._learned.weights)
            self._blurring = (
                self._learned,
                Compiled(network).scores if can_compile(network) else network.plain_scores,
            )
        scores = self._blurring[1]
        found = np.concatenate([scores(block, generator) for block in rows.blocks(_BLOCK)])  # (i, p)
        if self.levels is not None and self.layout is not None:
            self.levels.add(found, self.layout.coded_in(rows))
        return found

    def _network(self, weights: Weights) -> CouplingNetwork:
        sizes = len(self.vocabularies[0]), len(self.vocabularies[1])
        categories = self.vocabularies[0].categories, self.vocabularies[1].categories
        network = CouplingNetwork(*sizes, self.config.model, categories, self.layout)
        network.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
        return network
