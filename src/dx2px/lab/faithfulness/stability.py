"""Stability: do models that differ only in seed or fold explain the same stay alike?

Significance: rank agreement (Spearman, Kendall) within each stay of three or more diagnoses, and whether the same
diagnosis is first. Attributions: whether a procedure has the same first diagnosis, and the total variation
½ Σ_d |x_d − y_d| of its shares: 0 is the same explanation, 1 has nothing in common.
Settings: the paper gives the plan's β but no number of steps; how far are such plans from ours, which stop by proof?
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from dx2px.lab.faithfulness.attributions import attributions, one_scale, plan_shares
from dx2px.lab.faithfulness.pairs import Pairs
from dx2px.lab.faithfulness.planted import Planted
from dx2px.lab.faithfulness.subject import Subject
from dx2px.methods.paper.transport import TransportConfig
from dx2px.ragged import Ragged
from dx2px.scoring.segments import Doubles

COMPARED = ("shares", "own plan", "plan", "semi-relaxed plan", "cosine", "gradient × input", "leave-one-out")
BETAS = (0.05, 0.5, 5.0)
STEPS = (1, 5, 20, 100, 500)
LEAST = 3  # diagnoses that a stay must have for its order to be compared


@dataclass(frozen=True)
class Agreement:
    """How well two models agree on significance."""

    spearman: float
    kendall: float
    first: float  # share of stays with the same first diagnosis


@dataclass(frozen=True)
class Overlap:
    """How well two models agree on an attribution."""

    first: float  # share of procedures with the same first diagnosis
    variation: float  # mean total variation of the shares


@dataclass(frozen=True)
class Steadiness:
    """Means over all pairs of models of one family."""

    models: tuple[str, ...]
    significance: Agreement | None  # None if it is the same for all diagnoses by definition
    overlap: dict[str, Overlap]


@dataclass(frozen=True)
class Setting:
    """A plan of so many steps compared with the default one; `accuracy` if the truth is planted."""

    beta: float
    steps: int
    overlap: Overlap
    accuracy: float | None


def families(subjects: Sequence[Subject]) -> dict[str, list[Subject]]:
    """The models of each method that has several."""
    found: dict[str, list[Subject]] = {}
    for subject in subjects:
        found.setdefault(subject.family, []).append(subject)
    return {name: members for name, members in found.items() if len(members) > 1}


def steadiness(members: Sequence[Subject], pairs: Pairs) -> Steadiness:
    """How well the models agree on the same stays."""
    weights = [s.scorer.significance(pairs.diagnoses).astype(np.float64) for s in members]
    shares = [_shares(subject, pairs) for subject in members]
    both = list(combinations(range(len(members)), 2))
    found = [agreement(weights[a], weights[b], pairs.diagnoses) for a, b in both]
    known = [one for one in found if one is not None]
    overlaps = {
        name: _mean_overlap([overlap(shares[a][name], shares[b][name], pairs) for a, b in both])
        for name in shares[0]
    }
    return Steadiness(tuple(s.name for s in members), _mean_agreement(known), overlaps)


def agreement(x: Doubles, y: Doubles, rows: Ragged) -> Agreement | None:
    """Mean over the stays; None if one side gives all diagnoses of every stay the same weight."""
    from scipy.stats import kendalltau, rankdata  # type: ignore[import-untyped]

    found = []
    for i in np.flatnonzero(rows.lengths >= LEAST):
        part = slice(rows.offsets[i], rows.offsets[i + 1])
        a, b = x[part], y[part]
        if np.ptp(a) > 0 and np.ptp(b) > 0:
            rho = np.corrcoef(rankdata(a), rankdata(b))[0, 1]
            found.append((rho, kendalltau(a, b).statistic, np.argmax(a) == np.argmax(b)))
    return Agreement(*(float(v) for v in np.mean(found, axis=0))) if found else None


def overlap(x: Doubles, y: Doubles, pairs: Pairs) -> Overlap:
    """Of two attributions as shares."""
    same = (pairs.order(x) == 0) & (pairs.order(y) == 0)
    return Overlap(
        float(same.sum() / len(pairs.widths)), float(0.5 * np.abs(x - y).sum() / len(pairs.widths))
    )


def plan_settings(subject: Subject, pairs: Pairs, planted: Planted | None) -> list[Setting]:
    """The paper's plan by β and number of steps, as printed, compared with the plan of the default settings."""
    reference = plan_shares(subject, pairs, TransportConfig())
    found = []
    for beta, steps in product(BETAS, STEPS):
        config = TransportConfig(beta=beta, fixed_steps=steps, adaptive=False)
        shares = plan_shares(subject, pairs, config)
        right = None if planted is None else _accuracy(planted, shares)
        found.append(Setting(beta, steps, overlap(shares, reference, pairs), right))
    return found


def penalties(subject: Subject, planted: Planted) -> list[dict[str, float | None]]:
    """How often the same model's plan names the cause, as the diagnoses' marginal binds less and less."""
    grid: list[tuple[float | None, float]] = [(None, 0.0)]
    grid += [(rho, eps) for eps in (0.02, 0.05, 0.1, 0.2) for rho in (10.0, 1.0, 0.3, 0.1, 0.03, 0.0)]
    found: list[dict[str, float | None]] = []
    for rho, eps in grid:
        config = TransportConfig() if rho is None else TransportConfig(diagnosis_penalty=rho, entropy=eps)
        right = _accuracy(planted, plan_shares(subject, planted.pairs, config))
        found.append({"diagnosis_penalty": rho, "entropy": eps, "accuracy": right})
    return found


def _accuracy(planted: Planted, shares: Doubles) -> float:
    right: NDArray[np.float64] = planted.right(shares)[planted.explained]
    return float(right.mean())


def _shares(subject: Subject, pairs: Pairs) -> Mapping[str, Doubles]:
    named = attributions(subject, None, 0)
    return {name: one_scale(name, named[name](pairs), pairs) for name in COMPARED if name in named}


def _mean_agreement(found: Sequence[Agreement]) -> Agreement | None:
    if not found:
        return None
    return Agreement(
        *(float(np.mean([getattr(a, k) for a in found])) for k in ("spearman", "kendall", "first"))
    )


def _mean_overlap(found: Sequence[Overlap]) -> Overlap:
    return Overlap(*(float(np.mean([getattr(o, k) for o in found])) for k in ("first", "variation")))
