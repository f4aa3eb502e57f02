"""Fitting the head: each procedure's own correction of the pooled probabilities (`dx2px.scoring.head`).

The validation stays are too few to fit numbers of every procedure. So k, a, q and W are fitted on training stays: by
Adam, on the binary cross-entropy over all pairs of a stay and a procedure, with a ridge towards the pooled stage. Where
a method can, it scores these stays with dropout (`Recommender.blurred_scores`), since it knows them better than it will
know new ones. The last slope and shift come from the validation stays, and so does the decision to keep the head.

Axes: i stays, p procedures, f factors.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from dx2px.cohort import Ragged
from dx2px.scoring.calibration import Calibration
from dx2px.scoring.folder import halved
from dx2px.scoring.head import LAYOUT, Head
from dx2px.scoring.methods import Layout
from dx2px.scoring.metrics import BATCH, Scores
from dx2px.scoring.points import scored_pairs
from dx2px.scoring.segments import Floats
from dx2px.training.fit_calibration import conformal_thresholds, log_loss, slope_and_shift

MOST_PAIRS = 50_000_000  # of training stay and procedure; with more, evenly spread stays are used
FACTORS, STEPS, STAYS, RATE = 32, 1200, 500, 0.02
_RIDGE = {"k": 5.0, "a": 0.5, "q": 5.0}  # per unit², against the loss of all stays together
_SPREAD = 0.3  # deviation of W at the start

Weights = dict[str, Tensor]


def fitting_stays(procedures: int, stays: int) -> NDArray[np.int64]:
    """The training stays that the head is fitted on."""
    most = max(1, MOST_PAIRS // procedures)
    return np.linspace(0, stays - 1, min(stays, most)).astype(np.int64)


def with_head(
    pooled: Calibration,
    learned: tuple[Floats, Ragged],
    validation: tuple[Scores, Ragged, Ragged],
    *,
    half: bool = False,
) -> Calibration:
    """The stage with a head and its own thresholds, or as it was if the head does not help on the validation stays.

    Args:
        pooled: The stage so far.
        learned: The scores of training stays, (i, p), and their procedures.
        validation: How to score the validation stays, their diagnoses and their procedures.
        half: Round the head's arrays to half precision, as the folder will.
    """
    s, coded = scored_pairs(*validation)
    arrays = fit_head(pooled_log_odds(pooled, learned[0].copy()), learned[1])
    start = Head.of(halved(arrays) if half else arrays)
    slope, shift = slope_and_shift(start.own(pooled.pooled(s)), coded)
    stage = replace(pooled, head=replace(start, slope=slope, shift=shift))
    p = stage.probability(s)
    if not log_loss(p, coded) < log_loss(pooled.probability(s), coded):  # also if it is not a number
        return pooled
    return replace(stage, thresholds=conformal_thresholds(p, coded, pooled.coverages))


def pooled_log_odds(pooled: Calibration, scores: Floats) -> Floats:
    """η of every stay, in single precision, written over the scores."""
    for start in range(0, len(scores), BATCH):
        block = slice(start, start + BATCH)
        scores[block] = pooled.pooled(scores[block])
    return scores


def fit_head(
    eta: Floats, procedures: Ragged, *, steps: int = STEPS, layout: Layout = LAYOUT, seed: int = 0
) -> dict[str, Floats]:
    """The head's arrays. The learning rate is even at first and falls to 0 in the second half of the steps."""
    generator = torch.Generator().manual_seed(seed)
    weights = _start(eta.shape[1], generator)
    adam = torch.optim.Adam(weights.values(), fused=True)
    size = min(STAYS, len(eta))
    order = np.empty(0, np.int64)
    for step in range(steps):
        if len(order) < size:
            order = torch.randperm(len(eta), generator=generator).numpy()
        rows, order = order[:size], order[size:]
        coded = torch.from_numpy(procedures.take(rows).indicator(eta.shape[1]))
        loss = _loss(weights, torch.from_numpy(eta[rows]), coded, len(eta))
        adam.param_groups[0]["lr"] = RATE * min(1.0, 2 * (1 - step / steps))
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
    return dict(zip(layout, (weights[name].detach().numpy() for name in "kaqW"), strict=True))


def _start(procedures: int, generator: torch.Generator) -> Weights:
    """The pooled stage, with random factors that have no say yet."""
    weights = {
        "k": torch.ones(procedures),
        "a": torch.zeros(procedures),
        "q": torch.zeros(procedures, FACTORS),
        "W": _SPREAD * torch.randn(procedures, FACTORS, generator=generator),
    }
    return {name: weight.requires_grad_() for name, weight in weights.items()}


def _loss(weights: Weights, eta: Tensor, coded: Tensor, stays: int) -> Tensor:
    """Per stay: the cross-entropy over its procedures, and a stay's part of the ridge."""
    factors = torch.tanh(torch.sigmoid(eta).sqrt() @ weights["W"])  # (i, f)
    z = torch.addmm(weights["a"], factors, weights["q"].T) + weights["k"] * eta  # (i, p)
    surprise = binary_cross_entropy_with_logits(z, coded.to(z.dtype), reduction="sum") / len(eta)
    moved = {"k": weights["k"] - 1, "a": weights["a"], "q": weights["q"]}
    for name, ridge in _RIDGE.items():
        surprise = surprise + ridge / stays * moved[name].square().sum()
    return surprise
