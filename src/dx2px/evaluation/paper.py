"""The paper's model and its variants behind the protocol that every method offers."""

from __future__ import annotations

from typing import Any

import torch
from numpy.typing import NDArray

from dx2px.cohort import Ragged
from dx2px.evaluation.learned import LearnedModel
from dx2px.evaluation.metrics import Scores
from dx2px.model.network import Network
from dx2px.training.config import TrainingConfig


class PaperModel(LearnedModel):
    """E+Pooling, E+SA, E+MA or E+SA+MA, by `config.model.variant`. Scores are what eq 1 takes the sigmoid of."""

    config: TrainingConfig

    def _empty(self) -> Network:
        return Network(*self.sizes, self.config.model)

    @staticmethod
    def _scores(network: Network) -> Scores:
        """Logits; sigmoids would tie where they round to 1."""

        def scores(diagnoses: Ragged) -> NDArray[Any]:
            with torch.no_grad():
                f = network.fuse(diagnoses, network.significance(diagnoses))
                found: NDArray[Any] = (f @ network.V.T).cpu().numpy()
            return found

        return scores
