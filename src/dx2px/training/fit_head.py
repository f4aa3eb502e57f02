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

from dx2px.cohort import Ragged
from dx2px.scoring.calibration import Calibration, sigmoid
from dx2px.scoring.correction import told
from dx2px.scoring.folder import halved
from dx2px.scoring.head import LAYOUT, Head, roots, single_sigmoid
from dx2px.scoring.methods import Layout
from dx2px.scoring.metrics import BATCH
from dx2px.scoring.points import evenly_spread
from dx2px.scoring.segments import Doubles, Floats, uniform
from dx2px.scoring.selection import MANY
from dx2px.training.descent import Weights, descend
from dx2px.training.fit_calibration import conformal_thresholds, log_loss, slope_and_shift

MOST_PAIRS = 50_000_000  # of training stay and procedure; with more, evenly spread stays are used
FACTORS, STEPS = 32, 1200
HEARD = 500  # procedures that the factors hear, where there are very many
_RIDGE = {"k": (5.0, 1.0), "a": (0.5, 0.0), "q": (5.0, 0.0)}
_RIDGE_TOLD = _RIDGE | {"E": (0.5, 0.0)}
_SPREAD = 0.3  # deviation of W at the start


def fitting_stays(procedures: int, stays: int) -> NDArray[np.int64]:
    """The training stays that the head is fitted on."""
    return evenly_spread(stays, procedures, MOST_PAIRS)


def with_head(
    pooled: Calibration,
    learned: tuple[Floats, Ragged],
    validation: tuple[Doubles, NDArray[np.bool_]],
    *,
    half: bool = False,
) -> Calibration:
    """The stage with a head and its own thresholds, or as it was if the head does not help on the validation stays.

    Args:
        pooled: The stage so far.
        learned: The pooled log odds of training stays, (i, p), and their procedures.
        validation: The scores of validation stays, (i, p), and what was coded.
        half: Round the head's arrays to half precision, as the folder will.
    """
    s, coded = validation
    arrays = fit_head(*learned)
    start = Head.of(halved(arrays) if half else arrays)
    eta = pooled.pooled(s)
    slope, shift = slope_and_shift(start.own(eta), coded)
    head = replace(start, slope=slope, shift=shift)
    p = sigmoid(head.log_odds(eta))
    if not log_loss(p, coded) < log_loss(sigmoid(eta), coded):  # also if it is not a number
        return pooled
    return replace(pooled, head=head, thresholds=conformal_thresholds(p, coded, pooled.coverages))


def pooled_log_odds(pooled: Calibration, scores: Floats) -> Floats:
    """η of every stay, in single precision, written over the scores."""
    for start in range(0, len(scores), BATCH):
        block = slice(start, start + BATCH)
        scores[block] = pooled.pooled(scores[block])
    return scores


def fit_head(
    eta: Floats,
    procedures: Ragged,
    *,
    steps: int = STEPS,
    layout: Layout = LAYOUT,
    asked: Ragged | None = None,
    diagnoses: int = 0,
    seed: int = 0,
) -> dict[str, Floats]:
    """The head's arrays, from the pooled log odds of stays and their procedures.

    With the diagnoses that are `asked`, of so many in the vocabulary, also what each of them tells the head.
    """
    generator = torch.Generator().manual_seed(seed)
    unheard = _unheard(procedures, eta.shape[1])

    def of_some(weights: Weights, rows: NDArray[np.int64]) -> Weights:
        known = None if asked is None else asked.take(rows)
        found = gradient(weights, eta[rows], procedures.take(rows), known)
        found["W"][unheard] = 0
        return found

    start, ridge = _start(eta.shape[1], generator), _RIDGE
    start["W"][unheard] = 0
    if asked is not None:
        start, ridge = {**start, "E": np.zeros((diagnoses, FACTORS), np.float32)}, _RIDGE_TOLD
    found = descend(start, of_some, ridge, len(eta), steps, generator)
    return dict(zip(layout, (found[name] for name in start), strict=True))


def _unheard(coded: Ragged, procedures: int) -> NDArray[np.int64]:
    """The procedures that have no part in the factors: where there are very many, all but the most common.

    Answers then need not score the others to know the factors (`dx2px.scoring.candidates`).
    """
    if procedures < MANY:
        return np.empty(0, np.int64)
    return np.argsort(-np.bincount(coded.values, minlength=procedures), kind="stable")[HEARD:]


def _start(procedures: int, generator: torch.Generator) -> Weights:
    """The pooled stage, with random factors that have no say yet."""
    return {
        "k": np.ones(procedures, np.float32),
        "a": np.zeros(procedures, np.float32),
        "q": np.zeros((procedures, FACTORS), np.float32),
        "W": (_SPREAD * torch.randn(procedures, FACTORS, generator=generator)).numpy(),
    }


def gradient(weights: Weights, eta: Floats, procedures: Ragged, asked: Ragged | None = None) -> Weights:
    """Of the cross-entropy over all procedures of some stays, with z as in `dx2px.scoring.head`."""
    r = roots(eta)  # (i, p)
    factors: Floats = r @ weights["W"]  # (i, f)
    if (known := told(weights.get("E"), asked)) is not None:
        factors += known
    np.tanh(factors, out=factors)
    wrong = factors @ weights["q"].T  # (i, p)
    wrong += weights["a"]
    wrong += weights["k"] * eta
    wrong = single_sigmoid(wrong)
    wrong[procedures.row_of_entry, procedures.values] -= 1
    inner = (wrong @ weights["q"]) * (1 - factors * factors)  # (i, f)
    k = np.einsum("ip,ip->p", wrong, eta)
    found = {"k": k, "a": wrong.sum(axis=0), "q": wrong.T @ factors, "W": r.T @ inner}
    if asked is not None:
        found["E"] = np.zeros_like(weights["E"])
        np.add.at(found["E"], asked.values, inner[asked.row_of_entry] * uniform(asked)[:, None])
    return found
