"""How often each procedure occurs with a diagnosis, smoothed towards its share of all stays.

    q_dp = (w_dp + δ π_p) / (n_d + δ)          π_p = n_p / stays

A stay's score is the mean over its diagnoses of q_dp (form "mean") or of log q_dp (form "log", which ranks by the
product, as if the diagnoses were independent evidence). Form and δ are chosen on the validation stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from typing import Literal

import numpy as np

from dx2px.methods.baseline import Baseline, Fitted, Task
from dx2px.methods.counts import Counts
from dx2px.methods.trials import Trial, choose
from dx2px.scoring.segments import Floats

Form = Literal["mean", "log"]
_ALMOST_NEVER = 0.5  # in log q, a procedure that no training stay has counts as this many stays


@dataclass(frozen=True)
class CooccurrenceConfig:
    """The grid that validation chooses from."""

    forms: tuple[Form, ...] = ("mean", "log")
    deltas: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


class Cooccurrence(Baseline):
    """Smoothed conditional frequencies."""

    method = "cooccurrence"

    def __init__(self, config: CooccurrenceConfig | None = None) -> None:
        self.config = config or CooccurrenceConfig()

    def _learn(self, task: Task) -> Fitted:
        counts = Counts.of(task.cohort, task.training)

        def trials() -> Iterator[Trial[Floats]]:
            for form, delta in product(self.config.forms, self.config.deltas):
                table = frequencies(counts, form, delta)
                yield Trial({"form": form, "delta": delta}, task.f1({"T": table}), table)

        choice = choose(trials(), task.say)
        settings = asdict(self.config) | {"chosen": choice.best.record(), "tried": choice.tried}
        return Fitted({"T": choice.best.learned}, settings)


def frequencies(counts: Counts, form: Form, delta: float) -> Floats:
    """q_dp, or its logarithm."""
    shares = np.maximum(counts.procedures, _ALMOST_NEVER) / counts.stays if form == "log" else counts.shares
    q = (counts.pairs + delta * shares) / (counts.diagnoses + delta)[:, None]  # (d, p)
    return (np.log(q) if form == "log" else q).astype(np.float32)
