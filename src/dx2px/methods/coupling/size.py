"""The settings that follow the number of training stays or procedures. docs/method.md has the study behind them.

In a small cohort, a dozen epochs of large batches are too few steps, so the batches are smaller. It also has few stays
per code, so more of the features are dropped. From `MANY` stays on, both are what the published results have.
"""

from __future__ import annotations

from dx2px.scoring import selection

BATCH = 300  # stays per step, at most
STEPS = 8  # per epoch, at least
MANY = 10_000  # training stays from which a code's own stays say enough
DROPOUT_OF_MANY, DROPOUT_OF_FEW = 0.4, 0.6


def batch_size(stays: int) -> int:
    """Stays per step."""
    return max(1, min(BATCH, stays // STEPS))


def dropout(stays: int) -> float:
    """Share of the features that a step leaves out."""
    return DROPOUT_OF_MANY if stays >= MANY else DROPOUT_OF_FEW


def sample(procedures: int) -> int | None:
    """Procedures that a step scores besides those of its batch; None for all."""
    return selection.SAMPLE if procedures >= selection.MANY else None
