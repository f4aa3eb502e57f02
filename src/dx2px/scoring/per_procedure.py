"""Whether probabilities are right procedure by procedure: an average can be right while every line is wrong.

For each procedure, over the stays that give it a probability of 30 % or more (the ones that a user notices), the gap is
the distance between the mean probability and the share coded. Expected over observed is the sum of its probabilities
over the number of stays that have it. Only procedures with at least `LEAST` stays are counted, on either measure, but
some distance is left to chance: `by_chance` is the mean gap that right probabilities would show on these stays, and
`ratio_by_chance` is what expected over observed would be then.

Log loss and Brier score are sums over the procedures of a stay, averaged over stays: lower is better.

Axes: i stays, p procedures.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.scoring.segments import Doubles

NOTICED = 0.3  # the probability from which on a gap is measured
LEAST = 30  # stays, below which a share says little
_MEAN_OF_HALF_NORMAL = np.sqrt(2 / np.pi)
_DRAWS = np.array(
    [NormalDist().inv_cdf((n + 0.5) / 100) for n in range(100)]
)  # a normal distribution, evenly


@dataclass(frozen=True)
class ProcedureGap:
    """One procedure where it was given a probability of `NOTICED` or more."""

    procedure: int  # index in the model's vocabulary
    stays: int
    predicted: float  # mean probability
    observed: float  # share coded

    @property
    def gap(self) -> float:
        """How far apart the two are."""
        return abs(self.predicted - self.observed)


@dataclass(frozen=True)
class PerProcedure:
    """How right the probabilities of each procedure are.

    Attributes:
        log_loss: Mean over stays of −Σ_p log probability of what was coded or not; natural logarithm.
        brier: Mean over stays of Σ_p (probability − coded)².
        gaps: Every procedure with enough stays at `NOTICED` or more, the widest gap first.
        by_chance: The mean gap that right probabilities would show on these stays.
        expected_over_observed: The 5 % and 95 % quantiles over procedures with enough stays; None without any.
        ratio_by_chance: The same two quantiles if the probabilities were right.
        counted: How many procedures `expected_over_observed` is of.
    """

    log_loss: float
    brier: float
    gaps: tuple[ProcedureGap, ...]
    by_chance: float | None
    expected_over_observed: tuple[float, float] | None
    ratio_by_chance: tuple[float, float] | None
    counted: int

    @property
    def mean_gap(self) -> float | None:
        """Mean over the procedures that were measured; None without any."""
        return float(np.mean([one.gap for one in self.gaps])) if self.gaps else None

    @property
    def wide_gap(self) -> float | None:
        """Nine in ten procedures have a smaller gap."""
        return float(np.quantile([one.gap for one in self.gaps], 0.9)) if self.gaps else None

    def to_dict(self) -> dict[str, Any]:
        """As `dx2px evaluate --json` prints it under "calibration"; single procedures are left out."""
        record = {name: value for name, value in asdict(self).items() if name != "gaps"}
        gaps = {"measured": len(self.gaps), "mean_gap": self.mean_gap, "p90_gap": self.wide_gap}
        return {"noticed_from": NOTICED, "least_stays": LEAST, **record, **gaps}


def per_procedure(probability: Doubles, coded: NDArray[np.bool_]) -> PerProcedure:
    """From the probabilities of stays and what was coded, both (i, p)."""
    p = np.clip(probability, 1e-12, 1 - 1e-12)
    surprise = -np.log(np.where(coded, p, 1 - p)).sum(axis=1)  # (i,)
    gaps, chances = [], []
    for procedure in range(p.shape[1]):
        noticed = p[:, procedure] >= NOTICED
        stays = int(noticed.sum())
        if stays >= LEAST:
            own = p[noticed, procedure]
            observed = float(coded[noticed, procedure].mean())
            gaps.append(ProcedureGap(procedure, stays, float(own.mean()), observed))
            chances.append(np.sqrt((own * (1 - own)).sum()) / stays)
    expected, observed_stays = p.sum(axis=0), coded.sum(axis=0)  # (p,) (p,)
    by_chance = np.round(expected + np.sqrt((p * (1 - p)).sum(axis=0)) * _DRAWS[:, None])  # (draws, p)
    return PerProcedure(
        log_loss=float(surprise.mean()),
        brier=float(((p - coded) ** 2).sum(axis=1).mean()),
        gaps=tuple(sorted(gaps, key=lambda one: (-one.gap, one.procedure))),
        by_chance=float(np.mean(chances) * _MEAN_OF_HALF_NORMAL) if chances else None,
        expected_over_observed=_ratios(expected, observed_stays),
        ratio_by_chance=_ratios(np.broadcast_to(expected, by_chance.shape), by_chance),
        counted=int((observed_stays >= LEAST).sum()),
    )


def _ratios(expected: Doubles, observed: NDArray[Any]) -> tuple[float, float] | None:
    """The 5 % and 95 % quantiles of expected over observed, where enough is observed."""
    enough = observed >= LEAST
    if not enough.any():
        return None
    low, high = np.quantile(expected[enough] / observed[enough], [0.05, 0.95]).tolist()
    return low, high
