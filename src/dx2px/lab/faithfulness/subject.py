"""A saved model whose explanations are tested: how it answers about diagnoses, whatever other evidence it takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.lab.faithfulness.background import of_diagnoses
from dx2px.lab.faithfulness.pairs import copies_with
from dx2px.methods.paper.transport import TransportConfig
from dx2px.ragged import Ragged
from dx2px.scoring.folder import ModelFiles
from dx2px.scoring.methods import METHODS
from dx2px.scoring.scorer import Scorer
from dx2px.scoring.segments import Doubles, log_softmax

STEP = 0.02  # of the two-sided difference that stands for a derivative
PAPER = ("e+sa+ma", "e+ma")  # methods that learn with a transport plan


@dataclass(frozen=True, eq=False)
class Subject:
    """A model, with its name in the results."""

    name: str
    files: ModelFiles

    @cached_property
    def scorer(self) -> Scorer:
        return of_diagnoses(self.files.scorer())

    @property
    def method(self) -> str:
        return self.files.method

    @property
    def family(self) -> str:
        """Models of one family are runs of one method; for the paper's method, with the same kind of transport."""
        if self.method not in PAPER or not self.transport.penalised:
            return self.method
        shown = ("exact" if math.isinf(rho) else f"{rho:g}" for rho in self.transport.penalties)
        return f"{self.method} (penalties {', '.join(shown)})"

    @property
    def transport(self) -> TransportConfig:
        """How the model's plans were solved when it was trained."""
        held = self.files.settings.get("transport")
        names = ("diagnosis_penalty", "procedure_penalty", "entropy")
        given = {name: held[name] for name in names if name in held} if isinstance(held, Mapping) else {}
        return TransportConfig(**given)

    def log_probability(self, diagnoses: Ragged) -> Doubles:
        """The logarithm of the softmax of the scores over all procedures, (i, p)."""
        return log_softmax(self.scorer.scores(diagnoses))

    def fall(self, diagnoses: Ragged) -> Doubles:
        """How much the log probability of each procedure falls when one diagnosis is left out, (n, p)."""
        before = self.log_probability(diagnoses)[diagnoses.row_of_entry]
        return before - self.log_probability(diagnoses.copies_without())

    def gradient_times_input(self, diagnoses: Ragged) -> Doubles:
        """The derivative of each score as one diagnosis' vector grows, u → (1 + t) u at t = 0, (n, p)."""
        size = len(self.files.diagnoses)
        up, down = (self._stretched.scores(copies_with(diagnoses, k * size)) for k in (1, 2))
        return (up.astype(np.float64) - down) / (2 * STEP)

    @cached_property
    def _stretched(self) -> Scorer:
        """The model with two more rows for each diagnosis: its vectors, a little longer and a little shorter."""
        arrays = {name: self._stretch(name, array) for name, array in self.files.arrays.items()}
        return of_diagnoses(
            replace(self.files, arrays=arrays, diagnoses=tuple(self.files.diagnoses) * 3).scorer()
        )

    def _stretch(self, name: str, array: NDArray[Any]) -> NDArray[np.float32]:
        axes = METHODS[self.method].all_arrays[name]
        if "diagnosis" not in axes:
            return array
        factors = (1, 1 + STEP, 1 - STEP) if array.ndim > 1 else (1, 1, 1)
        rows = np.concatenate([array * np.float32(f) for f in factors], axis=axes.index("diagnosis"))
        return np.ascontiguousarray(rows, np.float32)
