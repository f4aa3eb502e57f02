"""The default model behind the protocol that every method offers."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dx2px.cohort import Ragged
from dx2px.evaluation.learned import LearnedModel
from dx2px.evaluation.metrics import Scores
from dx2px.model.coupling import CouplingNetwork
from dx2px.training.config import CouplingTraining
from dx2px.training.loop import Weights

_BLOCK = 1024  # stays scored at a time: their (diagnoses, procedures) arrays stay small


class CouplingModel(LearnedModel):
    """Every stay's own coupling of diagnoses with procedures; a score is the logarithm of a column's sum."""

    config: CouplingTraining

    def __init__(self, config: CouplingTraining | None = None, **surroundings: Any) -> None:
        super().__init__(config or CouplingTraining(), **surroundings)

    def _empty(self) -> CouplingNetwork:
        return CouplingNetwork(*self.sizes, self.config.model)

    def _merged(self, weights: Weights) -> Weights:
        """The parts that categories share, added to each code's own."""
        arrays = dict(weights)
        S, t, R = (arrays.pop(name) for name in ("S", "t", "R"))
        of_diagnosis, of_procedure = (vocabulary.categories for vocabulary in self.vocabularies)
        sums = {
            "U": arrays["U"] + S[of_diagnosis],
            "V": arrays["V"] + R[of_procedure],
            "s": arrays["s"] + t[of_diagnosis],
        }
        return arrays | sums

    @staticmethod
    def _scores(network: CouplingNetwork) -> Scores:
        @torch.no_grad()
        def scores(diagnoses: Ragged) -> NDArray[Any]:
            blocks = np.array_split(np.arange(len(diagnoses)), -(-len(diagnoses) // _BLOCK) or 1)
            parts = [network.scores(diagnoses.take(block)).cpu().numpy() for block in blocks if len(block)]
            return np.concatenate(parts) if parts else np.empty((0, len(network.V)), np.float32)

        return scores
