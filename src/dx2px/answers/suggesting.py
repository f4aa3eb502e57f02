"""Which diagnoses explain a procedure: how well a stay's own do, and which others usually would.

The coupling is read the other way round. P(p | d) is the probability of a procedure for a stay of which only the
diagnosis d is known, and π_d how frequent d is among the diagnoses of the training stays:

    explained   max P(p | d) over the diagnoses of a stay: no diagnosis explains a procedure if even this is low
    usual       π_d · P(p | d), as shares over all diagnoses: where a stay with the procedure usually has it from

Both were chosen on validation stays of the NHDS, from which a diagnosis was removed. Asking with the rest of the stay
found the removed diagnosis less often among the first five (51 % instead of 73 %).

P(p | d) is that of a whole stay with this one diagnosis, not that of a question, which may name a part of a stay's
diagnoses: there, the ones that are not named have a share in p. On 2,774 validation stays of `nhds2010`, questions
found the removed diagnosis less often among the first five (50 % instead of 56 %), and fewer of the procedures that
lost their diagnosis, at five findings per 100 stays (7 % instead of 16 %).

Axes: e coded procedures of all stays laid flat, d diagnoses, p procedures, u usual diagnoses.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dx2px.answers.model import Model
from dx2px.answers.results import Reason
from dx2px.ragged import Ragged, offsets_of
from dx2px.scoring.calibration import Calibration
from dx2px.scoring.evidence import layout_of
from dx2px.scoring.scorer import BLOCK, Scorer
from dx2px.scoring.segments import Doubles

SUGGESTED = 5  # diagnoses
_KEPT = 40  # per procedure, so that some are left if a stay has the first ones

Indices = NDArray[np.int64]


class Suggester:
    """A calibrated model, asked for the diagnoses that usually explain a procedure."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def suggested(self, procedure: int, own: Collection[str]) -> tuple[Reason, ...]:
        """The most usual ones besides a stay's own, each with its share."""
        codes = self.model.files.diagnoses
        diagnoses, shares = (part[procedure].tolist() for part in self._usual)
        reasons = (Reason(codes[d], share) for d, share in zip(diagnoses, shares, strict=True))
        return tuple(one for one in reasons if one.code not in own and one.share > 0)[:SUGGESTED]

    @cached_property
    def _usual(self) -> tuple[Indices, Doubles]:
        """The usual diagnoses of each procedure, most usual first, and their shares; each (p, u)."""
        files = self.model.files
        assert files.calibration is not None
        counts = np.ones(len(files.diagnoses)) if files.diagnosis_counts is None else files.diagnosis_counts
        weight = np.asarray(counts, np.float64)[:, None]
        every = np.arange(len(files.diagnoses))
        usual = weight * alone(files.calibration, self.model.scorer, every)  # (d, p)
        usual /= usual.sum(axis=0)
        order = np.argsort(-usual, axis=0, kind="stable")[:_KEPT]
        return order.T, np.take_along_axis(usual, order, axis=0).T


def best_explained(
    calibration: Calibration, scorer: Scorer, stays: Ragged, stay: Indices, procedure: Indices
) -> Doubles:
    """The most that one diagnosis of its stay explains of each coded procedure, (e,)."""
    size = _diagnoses(scorer)
    own = stays if size is None else stays.filtered(stays.values < size)
    used, place = np.unique(own.values, return_inverse=True)
    P = alone(calibration, scorer, used)
    per_entry = Ragged(own.offsets, place.astype(np.int32)).take(stay)
    of_each = P[per_entry.values, np.repeat(procedure, per_entry.lengths)]
    best: Doubles = np.maximum.reduceat(of_each, per_entry.offsets[:-1]) if len(stay) else np.empty(0)
    return best


def alone(calibration: Calibration, scorer: Scorer, diagnoses: NDArray[np.integer]) -> Doubles:
    """The probability of every procedure for a stay with one diagnosis and nothing else, (d, p)."""
    layout = layout_of(scorer)
    single = Ragged(offsets_of(np.ones(len(diagnoses), np.int64)), diagnoses.astype(np.int32))
    rows = single if layout is None else layout.rows(single)
    return np.concatenate([calibration.probability(scorer.scores(some)) for some in rows.blocks(BLOCK)])


def _diagnoses(scorer: Scorer) -> int | None:
    layout = layout_of(scorer)
    return None if layout is None else layout.diagnoses
