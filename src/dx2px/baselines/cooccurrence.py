"""How often a procedure goes with each diagnosis, smoothed towards its share of all stays.

    q_dp = (w_dp + δ π_p) / (n_d + δ)          π_p = n_p / stays

A stay's score is the mean over its diagnoses of q_dp (form "mean") or of log q_dp (form "log", which ranks by the
product, as if each diagnosis were evidence of its own). Form and δ are chosen on the validation stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from typing import Literal

import numpy as np

from dx2px.baselines.method import Fitted, Method, Task, additive
from dx2px.baselines.stays import Counts, Seen
from dx2px.baselines.validation import Trial, choose
from dx2px.training.recommender import Floats

Form = Literal["mean", "log"]
_ALMOST_NEVER = 0.5  # stays: what log q takes a procedure for that no training stay has


@dataclass(frozen=True)
class CooccurrenceConfig:
    """The grid that validation chooses from."""

    forms: tuple[Form, ...] = ("mean", "log")
    deltas: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


class Cooccurrence(Method):
    """Smoothed conditional frequencies."""

    method = "cooccurrence"

    def __init__(self, config: CooccurrenceConfig | None = None) -> None:
        self.config = config or CooccurrenceConfig()

    def _learn(self, task: Task) -> Fitted:
        seen, held_out = Seen.of(task.cohort, task.training), task.held_out()
        counts = Counts.of(task.cohort, task.training)

        def trials() -> Iterator[Trial[Floats]]:
            for form, delta in product(self.config.forms, self.config.deltas):
                table = frequencies(counts, form, delta)
                f1 = held_out.f1(additive(seen, table, {}).scores)
                yield Trial({"form": form, "delta": delta}, f1, table)

        choice = choose(trials(), task.say)
        settings = asdict(self.config) | {"chosen": choice.best.record(), "tried": choice.tried}
        return additive(seen, choice.best.learned, {"T": choice.best.learned}, settings)


def frequencies(counts: Counts, form: Form, delta: float) -> Floats:
    """q_dp, or its logarithm."""
    shares = np.maximum(counts.procedures, _ALMOST_NEVER) / counts.stays if form == "log" else counts.shares
    q = (counts.pairs + delta * shares) / (counts.diagnoses + delta)[:, None]  # (d, p)
    return (np.log(q) if form == "log" else q).astype(np.float32)
