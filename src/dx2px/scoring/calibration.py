"""From a method's scores to probabilities, and from probabilities to sets that hold a stated share of what was coded.

One small stage for every method, whatever its scores are (logits, softmax logits, cosines, counts). For the
scores s of a stay's procedures:

    x_p = s_p,  or  s_p − log Σ_q exp(s_q)  if scores only mean something relative to the others of the same stay
    f_p = first(x_p)                                       a rising curve: the log odds that go with x alone
    e_p = w₀ f_p + w₁ log Σ_q σ(f_q) + w₂ max_q f_q + w₃,  w₀ > 0
    η_p = second(e_p)                                      a rising curve again

Every step so far is the same for all procedures (pooled) and rises with s_p within a stay. `dx2px.scoring.head` then
corrects each procedure by itself, where that helps; otherwise probability_p = σ(η_p). With a head, a procedure that
ranks lower may be more probable. A procedure with the score −∞ is coded already, so it is out of the question: its
probability is 0, and the log odds of the others are corrected for the number of coded ones. Last, procedures that
exclude each other must not add up to more than 1 (`dx2px.scoring.alternatives`).

All this holds if a stay's diagnoses are all there. A question may name a part of them: `dx2px.scoring.correction` has
what changes then, and what changes with coded procedures while a stay is being coded; `dx2px.scoring.rest` has what
changes once it is. `dx2px.training.calibrating` fits it all.

Axes: i stays, p procedures, k knots, c coverages.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import InputError
from dx2px.ragged import Ragged
from dx2px.scoring.alternatives import Alternatives
from dx2px.scoring.correction import Correction
from dx2px.scoring.curve import Curve
from dx2px.scoring.head import COMPLETION, PARTIAL, Head, single_sigmoid
from dx2px.scoring.rest import Rest
from dx2px.scoring.segments import Doubles, Floats, log_softmax, total
from dx2px.scoring.selection import Selection

_LOWEST = -700.0  # exp(700) is still finite in double precision
_Find = Callable[[NDArray[np.int64] | None], Doubles]  # probabilities at places, or all


@dataclass(frozen=True, eq=False)
class Calibration:
    """The fitted stage; `dx2px.scoring.calibration_record` is how a model folder keeps it."""

    centred: bool
    first: Curve
    weights: Doubles  # (4,)
    second: Curve
    coverages: Doubles  # (c,) rising
    thresholds: Doubles  # (c,) falling
    head: Head | None = None  # without one, probabilities are the pooled ones
    alternatives: Alternatives = field(default_factory=Alternatives)  # none without a head
    completion: Correction | None = None  # of a model that takes coded procedures as evidence
    rest: Rest | None = None  # likewise; without it, a stay counts as one that is still being coded
    partial: Correction | None = None  # without it, a question counts as a whole stay
    partial_thresholds: Doubles = field(
        default_factory=lambda: np.empty(0)
    )  # (c,) of a calibration with `partial`
    counts: Doubles | None = None  # (p,) how many procedures each stands for in sums; one if None

    def probability(self, scores: NDArray[Any], places: NDArray[np.int64] | None = None) -> Doubles:
        """How often a procedure with such a score, in a stay with such scores, was coded; (i, p), within 0 and 1.

        With `places` (i, l), only for the procedures at these places.
        """
        out = _out(scores)
        eta = self.pooled(scores, out, places if self.head is None and out is None else None)
        return self._limited(lambda chosen: self._probability(eta, out, chosen), places)

    def of_question(self, scores: NDArray[Any], asked: Ragged) -> Doubles:
        """The same if the diagnoses that were asked, one row per stay, may be a part of a stay's.

        Once procedures are coded, that says enough: completion is right for a part of the diagnoses, too.
        """
        return self.limited(self.unlimited(scores, asked))

    def unlimited(self, scores: NDArray[Any], asked: Ragged) -> Doubles:
        """`of_question` of all procedures, (i, p), before what alternatives change; of stays that all have some
        coded procedure, or of stays that all have none."""
        out = _out(scores)
        if self.partial is None or out is not None:
            return self._probability(self.pooled(scores, out), out, None)
        return sigmoid(self.partial(self.log_odds(scores), asked.lengths, None, asked))

    def limited(self, p: Doubles, places: NDArray[np.int64] | None = None) -> Doubles:
        """What alternatives leave of `unlimited`: of all procedures or, with `places` (i, l), of these only."""
        return self._limited(
            lambda chosen: p if chosen is None else np.take_along_axis(p, chosen, axis=1), places
        )

    def given_rest(self, scores: NDArray[Any], places: NDArray[np.int64] | None = None) -> Doubles:
        """The same if the coded procedures are all that a stay has, but for the one asked about; (i, p) or (i, l).

        It differs from `probability` only in stays with coded procedures. Alternatives of these are not limited: what
        excludes what is part of the question.
        """
        out, p = _out(scores), np.empty((scores if places is None else places).shape)
        if out is None:
            return self.probability(scores, places) if len(p) else p
        some = out.any(axis=1)
        where, none = (None, None) if places is None else (places[some], places[~some])
        if not some.all():
            p[~some] = self.probability(scores[~some], none)
        p[some] = sigmoid(self.rest_log_odds(scores[some], out[some], where))
        return p

    def rest_log_odds(
        self, scores: NDArray[Any], out: NDArray[np.bool_], places: NDArray[np.int64] | None = None
    ) -> Doubles:
        """Of stays that all have some coded procedure, `out`, (i, p); all procedures or, with `places`, some."""
        eta = self.pooled(scores, out)
        z = eta if self.head is None else self.head.log_odds(eta)
        if self.completion is not None:
            z = self.completion(np.where(out, _LOWEST, z), out.sum(axis=1), places)
        elif places is not None:
            z = np.take_along_axis(z, places, axis=1)
        return z if self.rest is None else self.rest(z, out, places)

    def log_odds(self, scores: NDArray[Any]) -> Doubles:
        """Of all procedures, (i, p), before what completion and alternatives change."""
        eta = self.pooled(scores, _out(scores))
        return eta if self.head is None else self.head.log_odds(eta)

    def _probability(
        self, eta: Doubles, out: NDArray[np.bool_] | None, places: NDArray[np.int64] | None
    ) -> Doubles:
        """From the pooled log odds, (i, p) or, without a head and with nothing out, of the places alone."""
        if out is None:
            return sigmoid(eta if self.head is None else self.head.log_odds(eta, places))
        p = sigmoid(self._completed(eta if self.head is None else self.head.log_odds(eta), out))
        p[out] = 0.0
        return p if places is None else np.take_along_axis(p, places, axis=1)

    def _limited(self, find: _Find, places: NDArray[np.int64] | None) -> Doubles:
        """The probabilities at the places, or all of them, after what alternatives change."""
        if not len(self.alternatives):
            return find(places)
        if places is None:
            return self.alternatives.limited(find(None))
        if len(places) == 1:
            return self._of_one(find, places[0].tolist())
        columns = np.broadcast_to(self.alternatives.columns, (len(places), len(self.alternatives.columns)))
        p, asked = find(np.concatenate([places, columns], axis=1)), places.shape[1]
        return self.alternatives.limited(p[:, :asked], places, p[:, asked:])

    def _of_one(self, find: _Find, places: list[int]) -> Doubles:
        """Of a single stay, (1, l): what the places exclude is few, and all that matters besides them."""
        asked = [*places, *self.alternatives.beside(places)]
        p = find(np.array([asked]))
        known = dict(zip(asked, p[0].tolist(), strict=True))
        return p[:, : len(places)] / [self.alternatives.divisor(place, known) for place in places]

    def _completed(self, z: Doubles, out: NDArray[np.bool_]) -> Doubles:
        """Log odds, (i, p), corrected in the stays in which some procedures are coded."""
        coded = out.sum(axis=1)
        some = coded > 0
        if self.completion is not None and some.any():
            z = z.copy()
            z[some] = self.completion(np.where(out[some], _LOWEST, z[some]), coded[some])
        return z

    def pooled(
        self,
        scores: NDArray[Any],
        out: NDArray[np.bool_] | None = None,
        places: NDArray[np.int64] | None = None,
    ) -> Doubles:
        """η of the module's text, (i, p) or, with `places`, (i, l).

        Where `out` is true the score is −∞; that procedure has no part in what the scores of its stay say together.
        """
        if out is not None:  # a stay without any procedure left is given some scores, lest they become NaN
            scores = np.where(out.all(axis=1, keepdims=True), 0.0, scores)
        f = self.first(centre(scores, self.centred, self.counts))
        if out is not None:
            f[out] = _LOWEST
        chosen = f if places is None else np.take_along_axis(f, places, axis=1)
        eta = self.second(combined(chosen, context(f, self.counts), self.weights))
        if out is not None and places is None:
            eta[out] = _LOWEST
        return eta

    def narrowed(self, chosen: Selection, coded: bool) -> Calibration:
        """Of some procedures, for `probability` and `of_question` of a single stay with or without coded ones."""
        head, completion, partial = (
            self.head,
            self.completion if coded else None,
            None if coded else self.partial,
        )
        return replace(
            self,
            head=None if head is None else head.narrowed(chosen),
            alternatives=self.alternatives.narrowed(chosen),
            completion=None if completion is None else completion.narrowed(chosen),
            rest=None,
            partial=None if partial is None else partial.narrowed(chosen),
            counts=chosen.counts,
        )

    def threshold(self, coverage: float, *, question: bool = False) -> float:
        """The least probability of a set that holds, on average over stays, `coverage` of a stay's procedures.

        Coverages between fitted ones are rounded up to the next. A `question` may name a part of a stay's diagnoses.
        """
        low, high = float(self.coverages[0]), float(self.coverages[-1])
        if not low <= coverage <= high:
            raise InputError(f"The coverage must be from {low:g} to {high:g}, not {coverage:g}.")
        thresholds = self.partial_thresholds if question and self.partial is not None else self.thresholds
        return float(thresholds[bisect_left(self.coverages.tolist(), coverage - 1e-9)])

    def members(self, probability: Doubles, coverage: float, *, question: bool = False) -> NDArray[np.bool_]:
        """The set of each stay: procedures at or above the threshold, and the most probable one, (i, p)."""
        return (probability >= self.threshold(coverage, question=question)) | most_probable(probability)

    @property
    def arrays(self) -> dict[str, Floats]:
        """The heads', as a model folder names them; none without a head."""
        found = {} if self.head is None else self.head.arrays()
        for correction, layout in ((self.completion, COMPLETION), (self.partial, PARTIAL)):
            if correction is not None:
                found |= correction.arrays(layout)
        return found if self.rest is None else found | self.rest.arrays

    def with_arrays(self, arrays: Mapping[str, Floats]) -> Calibration:
        """The same with other arrays of the heads, or with none where there is no head."""
        return replace(
            self,
            head=None if self.head is None else self.head.with_arrays(arrays),
            completion=None if self.completion is None else self.completion.with_arrays(arrays, COMPLETION),
            rest=None if self.rest is None else Rest.of(arrays, self.rest.numbers),
            partial=None if self.partial is None else self.partial.with_arrays(arrays, PARTIAL),
        )


def centre(scores: NDArray[Any], centred: bool, counts: Doubles | None = None) -> Doubles:
    """The scores in double precision; where `centred`, log softmax over the procedures of each stay."""
    return log_softmax(scores, counts) if centred else scores.astype(np.float64)  # (i, p)


def combined(f: Doubles, stay: Doubles, weights: Doubles) -> Doubles:
    """e of the module's text, (i, p), from f and the stays' `context`."""
    # Written out: BLAS would sum in another order for one stay than for several.
    level = stay[:, 0] * weights[1] + stay[:, 1] * weights[2] + stay[:, 2] * weights[3]
    e: Doubles = weights[0] * f
    e += level[:, None]
    return e


def context(f: Doubles, counts: Doubles | None = None) -> Doubles:
    """What the scores of a stay say together: log of the expected number of procedures, the highest score, and 1."""
    found = np.ones((len(f), 3))
    likely = single_sigmoid(f).astype(np.float64)  # a sum that casts as it goes depends on the stay's place
    np.log(total(likely, counts), out=found[:, 0])
    f.max(axis=1, out=found[:, 1])
    return found


def sigmoid(x: Doubles) -> Doubles:
    """1 / (1 + e⁻ˣ), without overflow."""
    found: Doubles = 1.0 / (1.0 + np.exp(-np.maximum(x, _LOWEST)))
    return found


def most_probable(probability: Doubles) -> NDArray[np.bool_]:
    """True for the most probable procedure of each stay, (i, p)."""
    first = np.zeros(probability.shape, np.bool_)
    first[np.arange(len(probability)), probability.argmax(axis=1)] = True
    return first


def _out(scores: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Which procedures are out of the question, (i, p); None if none is."""
    return np.isneginf(scores) if scores.size and scores.min() == -np.inf else None
