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
exclude each other must not add up to more than 1 (`dx2px.scoring.alternatives`). `dx2px.scoring.completion` has what
changes with coded procedures: while a stay is being coded, and once it is. `dx2px.training.fit_calibration`,
`fit_head`, `fit_alternatives`, `fit_completion` and `fit_rest` fit all this.

Axes: i stays, p procedures, k knots, c coverages.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.errors import InputError
from dx2px.scoring.alternatives import Alternatives
from dx2px.scoring.completion import REST, Completion, Rest
from dx2px.scoring.head import COMPLETION, LAYOUT, Head
from dx2px.scoring.methods import Layout
from dx2px.scoring.segments import Doubles, Floats, log_softmax

BELOW, ABOVE = 8.0, 2.0  # how far, in log odds, a curve may continue beyond its first and its last knot
_OUTERMOST = (
    20.0  # and how often the rise of its first or last piece: a flat piece says nothing of what lies beyond
)
_LOWEST = -700.0  # exp(700) is still finite in double precision
_LARGEST, _STEEPEST = (
    1e50,
    1e150,
)  # a saved number and a slope: no fit comes near them, and their products stay finite
_NAMES = {"centred", "first", "weights", "second", "coverages", "thresholds"}
_OPTIONAL = {"head", "alternatives", "completion", "rest"}


@dataclass(frozen=True, eq=False)
class Curve:
    """Straight pieces between knots. Beyond them it rises ever more slowly, so that no answer is certain."""

    x: Doubles  # (k,) rising
    y: Doubles  # (k,) rising

    def __call__(self, values: Doubles) -> Doubles:
        out: Doubles = np.interp(values, self.x, self.y)
        first, last = self._ends
        if values.max(initial=-np.inf) > self.x[-1]:
            above = values > self.x[-1]
            out[above] += _flattening((values[above] - self.x[-1]) * last[0], last[1])
        if values.min(initial=np.inf) < self.x[0]:
            below = values < self.x[0]
            out[below] -= _flattening((self.x[0] - values[below]) * first[0], first[1])
        return out

    @cached_property
    def _ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The slope of the first piece and of the last, and how far the curve may continue beyond each."""
        rises, widths = np.diff(self.y)[[0, -1]].tolist(), np.diff(self.x)[[0, -1]].tolist()
        limits = (min(most, _OUTERMOST * rise) for most, rise in zip((BELOW, ABOVE), rises, strict=True))
        first, last = (
            (rise / width, limit) for rise, width, limit in zip(rises, widths, limits, strict=True)
        )
        return first, last

    def to_dict(self) -> dict[str, list[float]]:
        return {"x": self.x.tolist(), "y": self.y.tolist()}


@dataclass(frozen=True, eq=False)
class Calibration:
    """The fitted stage; a model folder keeps it as plain numbers, and the head's arrays with its weights."""

    centred: bool
    first: Curve
    weights: Doubles  # (4,)
    second: Curve
    coverages: Doubles  # (c,) rising
    thresholds: Doubles  # (c,) falling
    head: Head | None = None  # without one, probabilities are the pooled ones
    alternatives: Alternatives = field(default_factory=Alternatives)  # none without a head
    completion: Completion | None = None  # of a model that takes coded procedures as evidence
    rest: Rest | None = None  # likewise; without it, a stay counts as one that is still being coded

    def probability(self, scores: NDArray[Any], places: NDArray[np.int64] | None = None) -> Doubles:
        """How often a procedure with such a score, in a stay with such scores, was coded; (i, p), within 0 and 1.

        With `places` (i, l), only for the procedures at these places.
        """
        out = _out(scores)
        eta = self.pooled(scores, out, places if self.head is None and out is None else None)
        if places is not None and len(places) == 1 and len(self.alternatives):
            return self._of_one(eta, out, places[0].tolist())
        p = self._probability(eta, out, places)
        if not len(self.alternatives):
            return p
        if places is None:
            return self.alternatives.limited(p)
        columns = np.broadcast_to(self.alternatives.columns, (len(p), len(self.alternatives.columns)))
        return self.alternatives.limited(p, places, self._probability(eta, out, columns))

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

    def _of_one(self, eta: Doubles, out: NDArray[np.bool_] | None, places: list[int]) -> Doubles:
        """Of a single stay, (1, l): what the places exclude is few, and all that matters besides them."""
        asked = [*places, *self.alternatives.beside(places)]
        p = self._probability(eta, out, np.array([asked]))
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
        f = self.first(centre(scores, self.centred))
        if out is not None:
            f[out] = _LOWEST
        chosen = f if places is None else np.take_along_axis(f, places, axis=1)
        eta = self.second(combined(chosen, context(f), self.weights))
        if out is not None and places is None:
            eta[out] = _LOWEST
        return eta

    def threshold(self, coverage: float) -> float:
        """The least probability of a set that holds, on average over stays, `coverage` of a stay's procedures.

        Coverages between fitted ones are rounded up to the next.
        """
        low, high = float(self.coverages[0]), float(self.coverages[-1])
        if not low <= coverage <= high:
            raise InputError(f"The coverage must be from {low:g} to {high:g}, not {coverage:g}.")
        return float(self.thresholds[bisect_left(self.coverages.tolist(), coverage - 1e-9)])

    def members(self, probability: Doubles, coverage: float) -> NDArray[np.bool_]:
        """The set of each stay: procedures at or above the threshold, and the most probable one, (i, p)."""
        return (probability >= self.threshold(coverage)) | most_probable(probability)

    @property
    def arrays(self) -> dict[str, Floats]:
        """The heads', as a model folder names them; none without a head."""
        found = {} if self.head is None else self.head.arrays()
        second = None if self.completion is None else self.completion.head
        found |= {} if second is None else second.arrays(COMPLETION)
        return found if self.rest is None else found | self.rest.arrays

    def with_arrays(self, arrays: Mapping[str, Floats]) -> Calibration:
        """The same with other arrays of the heads, or with none where there is no head."""
        head = None if self.head is None else Head.of(arrays, (self.head.slope, self.head.shift))
        completion = self.completion
        if completion is not None and completion.head is not None:
            final = completion.head.slope, completion.head.shift
            completion = replace(completion, head=Head.of(arrays, final, COMPLETION))
        rest = None if self.rest is None else Rest.of(arrays, self.rest.numbers)
        return replace(self, head=head, completion=completion, rest=rest)

    def to_dict(self) -> dict[str, Any]:
        """As config.json keeps it; the head's arrays are elsewhere."""
        extra: dict[str, Any] = {}
        if self.head is not None:
            extra["head"] = [self.head.slope, self.head.shift]
        if len(self.alternatives):
            extra["alternatives"] = self.alternatives.to_list()
        if self.completion is not None:
            extra["completion"] = self.completion.numbers
        if self.rest is not None:
            extra["rest"] = list(self.rest.numbers)
        return extra | {
            "centred": self.centred,
            "first": self.first.to_dict(),
            "weights": self.weights.tolist(),
            "second": self.second.to_dict(),
            "coverages": self.coverages.tolist(),
            "thresholds": self.thresholds.tolist(),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Calibration:
        """From what `to_dict` returned, and the head's arrays; a ValueError if the record is not valid."""
        if record.keys() - _OPTIONAL != _NAMES or not isinstance(record["centred"], bool):
            raise ValueError("entries are missing or unknown")
        first, second = (_curve(record[name]) for name in ("first", "second"))
        weights, coverages, thresholds = (_numbers(record[n]) for n in ("weights", "coverages", "thresholds"))
        if len(weights) != 4 or weights[0] <= 0:
            raise ValueError("the weights must be four, the first above 0")
        if not len(coverages) == len(thresholds) > 0 or not (np.diff(coverages) > 0).all():
            raise ValueError("the coverages must rise, with one threshold per coverage")
        if (np.diff(thresholds) > 0).any() or not 0 <= thresholds.min() <= thresholds.max() <= 1:
            raise ValueError("the thresholds must fall, and be probabilities")
        head = _head(record, arrays)
        size = 0 if head is None else len(head.k)
        return cls(
            *(record["centred"], first, weights, second, coverages, thresholds, head),
            Alternatives.from_list(record.get("alternatives", []), size),
            _completion(record, arrays),
            _rest(record, arrays),
        )


def centre(scores: NDArray[Any], centred: bool) -> Doubles:
    """The scores in double precision; where `centred`, log softmax over the procedures of each stay."""
    return log_softmax(scores) if centred else scores.astype(np.float64)  # (i, p)


def combined(f: Doubles, stay: Doubles, weights: Doubles) -> Doubles:
    """e of the module's text, (i, p), from f and the stays' `context`."""
    e: Doubles = weights[0] * f + (stay @ weights[1:])[:, None]
    return e


def context(f: Doubles) -> Doubles:
    """What the scores of a stay say together: log of the expected number of procedures, the highest score, and 1."""
    found = np.ones((len(f), 3))
    np.log(sigmoid(f).sum(axis=1), out=found[:, 0])
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


def _flattening(rise: Doubles, limit: float) -> Doubles:
    """Rises like `rise` at first, and stays below `limit`."""
    flat: Doubles = -limit * np.expm1(-rise / limit)
    return flat


def _out(scores: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Which procedures are out of the question, (i, p); None if none is."""
    return np.isneginf(scores) if scores.size and scores.min() == -np.inf else None


def _completion(record: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Completion | None:
    own = _numbers(record.get("completion", [])).tolist()
    if len(own) not in ((5,) if arrays.keys() & COMPLETION.keys() else (0, 3)):
        raise ValueError("parts of its completion are missing")
    if not own:
        return None
    if own[0] <= 0:
        raise ValueError("the completion has a slope above 0")
    head = _fitted(arrays, own[3:], COMPLETION) if len(own) == 5 else None
    return Completion(own[0], own[1], own[2], head)


def _rest(record: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Rest | None:
    own, present = _numbers(record.get("rest", [])).tolist(), arrays.keys() & REST.keys()
    if len(own) != (2 if present else 0) or present not in (set(), REST.keys()):
        raise ValueError("parts of its rest are missing")
    if own and (own[0] <= 0 or "completion" not in record):
        raise ValueError("the rest has a slope above 0, and follows a completion")
    return Rest.of(arrays, (own[0], own[1])) if own else None


def _head(record: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Head | None:
    if arrays.keys() - COMPLETION.keys() - REST.keys() != (LAYOUT.keys() if "head" in record else set()):
        raise ValueError("parts of its head are missing")
    return _fitted(arrays, _numbers(record["head"]).tolist(), LAYOUT) if "head" in record else None


def _fitted(arrays: Mapping[str, NDArray[Any]], final: list[float], layout: Layout) -> Head:
    if len(final) != 2 or final[0] <= 0 or not layout.keys() <= arrays.keys():
        raise ValueError("a head has its arrays, a slope above 0 and a shift")
    return Head.of(arrays, (final[0], final[1]), layout)


def _curve(record: Any) -> Curve:
    if not isinstance(record, Mapping) or record.keys() != {"x", "y"}:
        raise ValueError("a curve has x and y")
    curve = Curve(_numbers(record["x"]), _numbers(record["y"]))
    if not len(curve.x) == len(curve.y) >= 2:
        raise ValueError("a curve has as many x as y, at least two")
    if not ((np.diff(curve.x) > 0).all() and (np.diff(curve.y) > 0).all()):
        raise ValueError("a curve must rise")
    if (np.diff(curve.y) > _STEEPEST * np.diff(curve.x)).any():
        raise ValueError("a curve must not have steps")
    return curve


def _numbers(values: Any) -> Doubles:
    plain = isinstance(values, Sequence) and not isinstance(values, str)
    if not plain or not all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
        raise ValueError("a list of numbers is expected")
    numbers = np.array(values, np.float64)
    if not (np.abs(numbers) <= _LARGEST).all():
        raise ValueError(f"numbers must be finite, and at most {_LARGEST:.0e}")
    return numbers
