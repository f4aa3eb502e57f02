"""Deletion: if the diagnosis that an explanation names is removed, does the recommendation fall?

Scale. All effects are differences of log softmax(scores)_p, the logarithm of the share that a model gives to procedure
p among all procedures. Scores of different methods have different units (logits, log sums, cosines), and adding a
number to all scores of a stay changes no ranking. This scale does not depend on either, the default model is trained on
it, and it needs no calibration, whose error would mix in. Its spread differs from model to model, so effects are
compared within a model, as shares of what leave-one-out attains, which looks at the answer.

Single deletion: the diagnosis with the largest attribution is removed. Leave-one-out removes the one whose removal
hurts most, which is the upper bound; a random one gives the mean over the stay's diagnoses.
Curves (after ERASER): comprehensiveness is the fall when the k diagnoses of largest attribution are removed,
sufficiency the fall when only they are kept. High comprehensiveness and low sufficiency are good. Measured on stays
with more than `MOST` diagnoses, so that every k has the same stays, and on at most `DRAWN` procedures, evenly spread
over the stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.lab.bootstrap import Interval, Resamples
from dx2px.lab.faithfulness.pairs import Pairs
from dx2px.lab.faithfulness.subject import Subject
from dx2px.ragged import Ragged, offsets_of
from dx2px.scoring.ranking import top_l
from dx2px.scoring.segments import Doubles

MOST = 4  # diagnoses removed or kept in the curves, at most
DRAWN = 600  # procedures of a curve, at most: each is scored again for every attribution and every k
LISTED = 5  # recommendations of a stay; a plan for the first is made with all of them
BEST, ANY = "leave-one-out", "random"
_BLOCK = 4096  # changed stays scored at a time


@dataclass(frozen=True)
class Deletion:
    """The fall when the diagnosis of largest attribution is removed; `of_best` is its share of leave-one-out's fall."""

    fall: Interval
    of_best: Interval | None  # None if leave-one-out attains no fall


@dataclass(frozen=True)
class Curve:
    """Mean falls with 1 to MOST diagnoses removed, and with 1 to MOST kept."""

    comprehensiveness: list[float]
    sufficiency: list[float]


@dataclass(frozen=True, eq=False)
class Targets:
    """Procedures to explain, and which of them are measured."""

    pairs: Pairs
    measured: NDArray[np.bool_]  # (e,)

    @classmethod
    def ranked_first(cls, subject: Subject, diagnoses: Ragged) -> Targets:
        """The first recommendation of each stay; plans are made with the whole list, as in `dx2px explain`."""
        best = top_l(subject.scorer.scores(diagnoses), LISTED)
        lengths = np.full(len(best), best.shape[1])
        pairs = Pairs(diagnoses, Ragged(offsets_of(lengths), best.ravel()))
        first = np.arange(best.size) % best.shape[1] == 0
        return cls(pairs, first & (pairs.widths > 1))


def deletions(named: Mapping[str, Doubles], targets: Targets, resamples: Resamples) -> dict[str, Deletion]:
    """The fall for each attribution; the falls themselves are leave-one-out's numbers, which are among them."""
    pairs, fall = targets.pairs, named[BEST]  # (c,)
    best = np.maximum.reduceat(fall, pairs.offsets[:-1])[targets.measured]
    stay = pairs.stay[targets.measured]
    found = {}
    for name, values in named.items():
        dropped = _mean_fall(fall, pairs) if name == ANY else fall[pairs.order(values) == 0]
        chosen = dropped[targets.measured]
        share = resamples.ratio(chosen, best, stay) if best.sum() > 0 else None
        found[name] = Deletion(resamples.mean(chosen, stay), share)
    return found


def curves(
    subject: Subject, named: Mapping[str, Doubles], targets: Targets, most: int = MOST
) -> dict[str, Curve]:
    """Comprehensiveness and sufficiency of each attribution; empty if no stay has enough diagnoses."""
    pairs = targets.pairs
    entries = np.flatnonzero(targets.measured & (pairs.widths > most))
    if not len(entries):
        return {}
    entries = entries[np.linspace(0, len(entries) - 1, min(len(entries), DRAWN)).astype(np.int64)]
    before = _log_probability(subject, pairs, entries, np.ones(pairs.offsets[-1], bool))
    found = {}
    for name, values in named.items():
        rank = pairs.order(values)
        lost = [_log_probability(subject, pairs, entries, rank >= k) for k in range(1, most + 1)]
        kept = [_log_probability(subject, pairs, entries, rank < k) for k in range(1, most + 1)]
        found[name] = Curve(*([float((before - after).mean()) for after in side] for side in (lost, kept)))
    return found


def _mean_fall(fall: Doubles, pairs: Pairs) -> Doubles:
    """Of removing a random diagnosis: the exact expectation, without drawing."""
    return np.add.reduceat(fall, pairs.offsets[:-1]) / pairs.widths


def _log_probability(
    subject: Subject, pairs: Pairs, entries: NDArray[np.int64], kept: NDArray[np.bool_]
) -> Doubles:
    """The log probability of each of these procedures, given only the diagnoses that are kept."""
    changed = Ragged(pairs.offsets, pairs.diagnoses.values[pairs.source]).filtered(kept).take(entries)
    out = np.empty(len(entries))
    for first in range(0, len(entries), _BLOCK):
        block = np.arange(first, min(first + _BLOCK, len(entries)))
        scores = subject.log_probability(changed.take(block))
        out[block] = scores[np.arange(len(block)), pairs.procedures.values[entries[block]]]
    return out
