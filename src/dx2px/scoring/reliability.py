"""Whether probabilities are right: of all pairs of stay and procedure with a probability of 0.3, were 30 % coded?

The expected calibration error (ECE) is the mean distance between the mean probability and the share coded, over 15
bins of equally many pairs; the slope is that of a logistic regression of what was coded on the log odds (1 is right;
below 1 the probabilities are too extreme). Both are computed over all pairs, most of which are improbable, and over the
pairs that a user sees: the ten best-ranked of each stay. `per_procedure` asks the same of each procedure by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort import Ragged
from dx2px.scoring.calibration import Calibration, sigmoid
from dx2px.scoring.metrics import Scores
from dx2px.scoring.per_procedure import NOTICED, PerProcedure, per_procedure
from dx2px.scoring.points import Points, scored_pairs
from dx2px.scoring.ranking import top_l
from dx2px.scoring.segments import Doubles

BINS, TOP = 15, 10
TARGETS = (0.8, 0.9, 0.95)
_NEWTON_STEPS = 30


@dataclass(frozen=True, eq=False)
class Agreement:
    """Probabilities and what was coded, in bins of equally many pairs, the least probable first."""

    predicted: Doubles  # (bins,) mean probability
    observed: Doubles  # (bins,) share coded
    pairs: NDArray[np.int64]  # (bins,)
    slope: float | None  # None if all pairs have the same probability

    @property
    def ece(self) -> float:
        """Expected calibration error."""
        return float(np.abs(self.predicted - self.observed) @ self.pairs / self.pairs.sum())

    def to_dict(self) -> dict[str, float | None]:
        return {"ece": self.ece, "slope": self.slope}


@dataclass(frozen=True)
class Coverage:
    """Sets meant to hold the share `target` of a stay's procedures: their mean recall and mean size over stays."""

    target: float
    recall: float
    set_size: float


@dataclass(frozen=True)
class Noticed:
    """All pairs with a probability of 30 % or more (`per_procedure.NOTICED`) together."""

    pairs: int
    predicted: float  # mean probability; 0 without pairs
    observed: float  # share coded

    def off(self, least: float) -> bool:
        """Whether predicted and observed differ by more than `least`, and by more than chance explains."""
        gap = abs(self.predicted - self.observed)
        chance = np.sqrt(self.predicted * (1 - self.predicted) / max(self.pairs, 1))
        return gap > max(least, float(2 * chance))


@dataclass(frozen=True, eq=False)
class Reliability:
    """Agreement over all pairs and over each stay's first ten, procedure by procedure, and of sets."""

    stays: int
    all: Agreement
    top: Agreement
    coverage: tuple[Coverage, ...]
    procedures: PerProcedure
    noticed: Noticed = Noticed(0, 0.0, 0.0)

    def to_dict(self) -> dict[str, Any]:
        """As `dx2px evaluate --json` prints it under "calibration"."""
        sets = [
            {"target": one.target, "recall": one.recall, "set_size": one.set_size} for one in self.coverage
        ]
        return {
            "stays": self.stays,
            "all": self.all.to_dict(),
            f"top{TOP}": self.top.to_dict(),
            "coverage": sets,
            "procedures": self.procedures.to_dict(),
        }


def reliability(
    calibration: Calibration, scores: Scores, diagnoses: Ragged, procedures: Ragged
) -> Reliability:
    """Measured on stays that neither the method nor the calibration was fitted on."""
    s, coded = scored_pairs(scores, diagnoses, procedures)
    p = calibration.probability(s)
    best = top_l(s, TOP).astype(np.int64)
    top = agreement(np.take_along_axis(p, best, axis=1), np.take_along_axis(coded, best, axis=1))
    sets = tuple(_coverage(calibration, p, coded, target) for target in TARGETS)
    return Reliability(len(s), agreement(p, coded), top, sets, per_procedure(p, coded), _noticed(p, coded))


def _noticed(p: Doubles, coded: NDArray[np.bool_]) -> Noticed:
    some = p >= NOTICED
    pairs = int(some.sum())
    return Noticed(pairs, float(p[some].mean()), float(coded[some].mean())) if pairs else Noticed(0, 0.0, 0.0)


def agreement(probability: Doubles, coded: NDArray[np.bool_], bins: int = BINS) -> Agreement:
    """Probabilities and outcomes of any shape."""
    p, hits = probability.reshape(-1), coded.reshape(-1)
    order = np.argsort(p, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    return Agreement(
        predicted=np.array([p[part].mean() for part in parts]),
        observed=np.array([hits[part].mean() for part in parts]),
        pairs=np.array([len(part) for part in parts]),
        slope=_slope(p, hits),
    )


def _coverage(calibration: Calibration, p: Doubles, coded: NDArray[np.bool_], target: float) -> Coverage:
    members = calibration.members(p, target)
    recall = (members & coded).sum(axis=1) / coded.sum(axis=1)
    return Coverage(target, float(recall.mean()), float(members.sum(axis=1).mean()))


def _slope(p: Doubles, coded: NDArray[np.bool_]) -> float | None:
    """Of the logistic regression of `coded` on the log odds, by Newton's method over points of similar log odds."""
    if not 0 < coded.sum() < len(coded) or p.min() == p.max():
        return None
    points = Points.of(np.log(p) - np.log1p(-p), coded)
    X = np.stack([points.x, np.ones(len(points.x))], axis=1)  # (n, 2)
    w = np.array([1.0, 0.0])
    for _ in range(_NEWTON_STEPS):
        q = sigmoid(X @ w)
        H = (X * (points.pairs * q * (1 - q))[:, None]).T @ X
        step = np.linalg.solve(H + 1e-9 * np.eye(2), X.T @ (points.pairs * q - points.coded))
        w = w - step
        if np.abs(step).max() < 1e-9:
            break
    return float(w[0])
