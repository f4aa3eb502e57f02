"""How well ranked procedures match the recorded ones: precision, recall and F1 of the first L.

For one stay with recorded procedures P and the first L recommended ones R, h = |P ∩ R|:

    precision = h / |R|      recall = h / |P|      F1 = 2·precision·recall / (precision + recall), 0 where h = 0

Each is computed per stay and averaged over the stays, in per cent (the paper's formulas lack the 1/I).
If fewer than L procedures exist, |R| is their number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import InputError
from dx2px.ragged import Ragged
from dx2px.scoring.ranking import top_l

__all__ = ["AT", "Metrics", "Scores", "evaluate", "evaluate_ranking", "top_l"]

AT = (1, 3, 5, 10)
BATCH = 512  # stays scored at a time, so that their tables stay in the cache
Scores = Callable[[Ragged], NDArray[Any]]  # diagnoses of n stays → (n, |P|)
Rates = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Metrics:
    """The hits of every stay among its first L recommendations, for each L in `at`; the rest follows from them."""

    at: tuple[int, ...]
    hits: NDArray[np.int64]  # (stays, at)
    recommended: NDArray[np.int64]  # (stays, at)
    recorded: NDArray[np.int64]  # (stays,)

    def __len__(self) -> int:
        return len(self.recorded)

    def __repr__(self) -> str:
        means = ", ".join(f"F1@{L} {mean:.2f} %" for L, mean in self.mean("f1").items())
        return f"Metrics({len(self):,} stays, {means})"

    @property
    def precision(self) -> Rates:
        """Of each stay, from 0 to 1."""
        return self.hits / np.maximum(self.recommended, 1)  # (stays, at)

    @property
    def recall(self) -> Rates:
        """Of each stay, from 0 to 1."""
        return self.hits / self.recorded[:, None]  # (stays, at)

    @property
    def f1(self) -> Rates:
        """Of each stay, from 0 to 1: 2h / (|R| + |P|), which is the harmonic mean, also for h = 0."""
        return 2 * self.hits / (self.recommended + self.recorded[:, None])  # (stays, at)

    def mean(self, name: str) -> dict[int, float]:
        """Mean of `precision`, `recall` or `f1` over the stays, in per cent, for each L."""
        means = 100 * getattr(self, name).mean(axis=0)
        return dict(zip(self.at, means.tolist(), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """As `dx2px evaluate --json` prints it."""
        means = {name: self.mean(name) for name in ("recall", "precision", "f1")}
        return {
            "stays": len(self),
            "top": {str(L): {name: mean[L] for name, mean in means.items()} for L in self.at},
        }


def evaluate(
    scores: Scores,
    diagnoses: Ragged,
    procedures: Ragged,
    at: Sequence[int] = AT,
    batch: int = BATCH,
) -> Metrics:
    """Score the stays batch by batch, and compare the best procedures with the recorded ones."""
    _check(at, len(diagnoses), procedures)
    ranked = [top_l(_without_nan(scores(block)), max(at)) for block in diagnoses.blocks(batch)]
    return evaluate_ranking(np.concatenate(ranked), procedures, at)


def evaluate_ranking(ranked: NDArray[np.integer[Any]], procedures: Ragged, at: Sequence[int] = AT) -> Metrics:
    """Compare each stay's ranking, best first, with its procedures; an entry below 0 is no recommendation."""
    _check(at, len(ranked), procedures)
    places = np.minimum(at, ranked.shape[1]) - 1
    size = 1 + max(int(ranked.max(initial=0)), int(procedures.values.max(initial=0)))
    starts = range(0, len(ranked), BATCH)
    hit = [
        _hits(ranked[start : start + BATCH], block, size)
        for start, block in zip(starts, procedures.blocks(BATCH), strict=True)
    ]
    return Metrics(
        at=tuple(at),
        hits=np.cumsum(np.concatenate(hit), axis=1, dtype=np.int64)[:, places],
        recommended=np.cumsum(ranked >= 0, axis=1, dtype=np.int64)[:, places],
        recorded=procedures.lengths,
    )


def _hits(ranked: NDArray[np.integer[Any]], procedures: Ragged, size: int) -> NDArray[np.bool_]:
    """Whether each ranked procedure is recorded."""
    recorded = procedures.indicator(size)
    found = np.take_along_axis(recorded, np.maximum(ranked, 0).astype(np.int64), axis=1)
    return found & (ranked >= 0)  # (stays, l)


def _check(at: Sequence[int], stays: int, procedures: Ragged) -> None:
    if not at or min(at) < 1:
        raise InputError(f"Metrics are of the first L recommendations, L at least 1, not {list(at)}.")
    if stays != len(procedures):
        raise InputError(f"{stays} stays were ranked but {len(procedures)} have recorded procedures.")
    if not stays:
        raise InputError("There are no stays to evaluate.")
    if not procedures.lengths.all():
        raise InputError("A stay without recorded procedures cannot be evaluated.")


def _without_nan(scores: NDArray[Any]) -> NDArray[Any]:
    if np.isnan(scores).any():
        raise InputError("The method gave scores that are not numbers, so its ranking means nothing.")
    return scores
