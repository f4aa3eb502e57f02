"""The settings that follow the number of training stays or procedures. docs/method.md has the study behind them.

In a small cohort, a dozen epochs of large batches are too few steps, so the batches are smaller. It also has few stays
per code, so more of the features are dropped. From `MANY` stays on, both are what the published results have.
"""

from __future__ import annotations

from dx2px.scoring.selection import MANY as MANY_TO_SCORE
from dx2px.scoring.selection import SAMPLE as SAMPLED

BATCH = 300  # stays per step, at most
STEPS = 8  # per epoch, at least
MANY = 10_000  # training stays from which a code's own stays say enough
DROPOUT_OF_MANY, DROPOUT_OF_FEW = 0.4, 0.6
MANY_PROCEDURES = MANY_TO_SCORE  # from which on a step scores a sample of them
SAMPLE = SAMPLED  # of these


def batch_size(stays: int) -> int:
    """Stays per step."""
    return max(1, min(BATCH, stays // STEPS))


def dropout(stays: int) -> float:
    """Share of the features that a step leaves out."""
    return DROPOUT_OF_MANY if stays >= MANY else DROPOUT_OF_FEW


def sample(procedures: int) -> int | None:
    """Procedures that a step scores besides those of its batch; None for all."""
    return SAMPLE if procedures >= MANY_PROCEDURES else None
