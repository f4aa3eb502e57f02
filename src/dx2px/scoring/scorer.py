"""What every method's scorer offers, and how to rank the procedures of many stays with it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dx2px.ragged import Ragged
from dx2px.scoring.ranking import top_l
from dx2px.scoring.segments import Arrays, Doubles, Floats

BLOCK = 2048  # stays scored at a time, so that their arrays stay in the processor's cache


class Scorer(Protocol):
    """Scores stays. Each row has at least one diagnosis, and none twice."""

    @classmethod
    def of(cls, arrays: Arrays, settings: Mapping[str, Any]) -> Self:
        """From a model's arrays and settings."""

    def scores(self, diagnoses: Ragged) -> Floats:
        """The score of each procedure for each stay, (i, p): the higher the better."""

    def significance(self, diagnoses: Ragged) -> Floats:
        """The weight of each diagnosis in its stay, laid flat as `diagnoses.values`; sums to 1 in each stay."""


@runtime_checkable
class CouplingScores(Scorer, Protocol):
    """A scorer whose score is a sum over the stay's diagnoses, so that its reasons are exact."""

    def pairs(self, rows: Ragged) -> Floats:
        """The logarithm of every term of the sum, up to one number per procedure, (n, p). Do not modify."""

    def coupling(self, diagnoses: Ragged) -> Doubles:
        """π(d, p) of every stay, its rows laid flat; the rows of a stay sum to 1, (n, p). Do not modify."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """The best procedures of each stay, best first, equal scores by index."""

    procedures: NDArray[np.int32]  # (i, top)
    scores: Floats  # (i, top)


def rank(scorer: Scorer, diagnoses: Ragged, top: int = 10, threads: int | None = None) -> Ranked:
    """Score many stays and keep the best of each, block by block, one thread per processor."""
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        parts = list(pool.map(lambda block: _rank_block(scorer, block, top), diagnoses.blocks(BLOCK)))
    if not parts:
        return Ranked(np.empty((0, top), np.int32), np.empty((0, top), np.float32))
    return Ranked(np.concatenate([p for p, _ in parts]), np.concatenate([s for _, s in parts]))


def _rank_block(scorer: Scorer, block: Ragged, top: int) -> tuple[NDArray[np.int32], Floats]:
    scores = scorer.scores(block)
    best = top_l(scores, top)
    return best, np.take_along_axis(scores, best.astype(np.int64), axis=1)
