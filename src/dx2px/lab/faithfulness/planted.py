"""Comparison with planted truth: a synthetic cohort knows which diagnosis caused each procedure.

No attribution can always be right: if two diagnoses of a stay can cause the same procedure, it is partly chance which
one did. The generator's own posterior of the cause is the best possible, and is the yardstick.

Measures, over the procedures that some diagnosis caused: how often the diagnosis of largest attribution is the cause
(ties count 1/k); areas under the ROC and precision-recall curves over pairs, where a pair is true if the diagnosis
caused the procedure. For significance: how often a diagnosis that caused something has more weight than one of the same
stay that did not, and how often the one of largest weight caused something.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort import Cohort
from dx2px.lab.bootstrap import Interval, Resamples
from dx2px.lab.faithfulness.attributions import one_scale
from dx2px.lab.faithfulness.pairs import Pairs
from dx2px.lab.synthetic import Truth
from dx2px.ragged import Ragged
from dx2px.scoring.segments import Doubles

POSTERIOR, EXPECTED = "posterior", "expected calls"  # the two yardsticks
LIFT = "lift"


@dataclass(frozen=True)
class Recovery:
    """How well an attribution finds causes.

    `of_posterior` is its accuracy as a share of the best possible; `over_lift` is its gain over counting, in the same
    stays, so that the interval says which is better.
    """

    accuracy: Interval
    of_posterior: Interval
    over_lift: Interval | None
    roc: Interval
    pr: Interval


@dataclass(frozen=True)
class CausesFirst:
    """How well weights of diagnoses put first those that caused something."""

    ahead: Interval  # chance that a cause has more weight than a diagnosis that caused nothing
    first: Interval  # how often the diagnosis of largest weight caused something


@dataclass(frozen=True, eq=False)
class Planted:
    """The truth of some stays, in the layout of their pairs.

    Plans are made with all procedures of a stay, since nobody knows beforehand which have no cause; only those
    that have one are measured.
    """

    pairs: Pairs
    cause: NDArray[np.bool_]  # (c,) whether the pair's diagnosis caused the procedure
    posterior: Doubles  # (c,)
    calls: Doubles  # (n,) expected number of calls of each diagnosis
    explained: NDArray[np.bool_]  # (e,) whether a diagnosis caused the procedure

    @classmethod
    def of(cls, truth: Truth, cohort: Cohort, rows: NDArray[np.int64]) -> Planted:
        """Of the stays `rows` of the truth's own cohort."""
        numbers = np.arange(len(cohort.procedures.values), dtype=np.int32)
        entries = Ragged(cohort.procedures.offsets, numbers).take(rows).values
        pairs = Pairs(cohort.diagnoses.take(rows), cohort.procedures.take(rows))
        cause = pairs.place == truth.place[entries][pairs.entry]
        posterior = truth.posterior[truth.offsets[entries][pairs.entry] + pairs.place].astype(np.float64)
        calls = expected_calls(truth, cohort)[pairs.diagnoses.values]
        return cls(pairs, cause, posterior, calls, truth.place[entries] >= 0)

    def right(self, values: Doubles) -> Doubles:
        """For each procedure, 1 if the cause has the largest value, 1/k if it ties with k − 1 others. (e,)"""
        begins = self.pairs.offsets[:-1]
        highest = np.repeat(np.maximum.reduceat(values, begins), self.pairs.widths)
        best = values == highest
        ties = np.add.reduceat(best.astype(np.float64), begins)
        return np.add.reduceat((best & self.cause).astype(np.float64), begins) / ties

    def recovery(self, named: Mapping[str, Doubles], resamples: Resamples) -> dict[str, Recovery]:
        """The measures of each attribution, and of the posterior."""
        best = self.right(self.posterior)[self.explained]
        counted = self.right(named[LIFT])[self.explained] if LIFT in named else None
        stay, measured = self.pairs.stay[self.explained], self.explained[self.pairs.entry]
        stay_of_pair = self.pairs.stay[self.pairs.entry][measured]
        found = {}
        for name, values in {**named, POSTERIOR: self.posterior}.items():
            right = self.right(values)[self.explained]
            accuracy, of_best = resamples.mean(right, stay), resamples.ratio(right, best, stay)
            scaled = one_scale(name, values, self.pairs)[measured]
            areas = resamples.areas(scaled, self.cause[measured], stay_of_pair)
            gain = None if counted is None else resamples.mean(right - counted, stay)
            found[name] = Recovery(accuracy, of_best, gain, *areas)
        return found

    def causes_first(self, weights: Doubles, resamples: Resamples) -> CausesFirst:
        """How well weights of the diagnosis entries, (n,), agree with which of them caused something."""
        rows = self.pairs.diagnoses
        causing = np.zeros(len(rows.values), bool)
        causing[self.pairs.source[self.cause]] = True
        ahead, first, stays = [], [], []
        for i in range(len(rows)):
            part = slice(rows.offsets[i], rows.offsets[i + 1])
            w, yes = weights[part], causing[part]
            if yes.any() and not yes.all():
                difference = w[yes][:, None] - w[~yes]
                ahead.append(float(np.mean((difference > 0) + 0.5 * (difference == 0))))
                first.append(float(yes[w == w.max()].mean()))
                stays.append(i)
        where = np.array(stays, np.int64)
        return CausesFirst(resamples.mean(np.array(ahead), where), resamples.mean(np.array(first), where))

    def yardsticks(self) -> dict[str, Doubles]:
        """Weights from the generator itself: knowing the stay's procedures, and not knowing them. (n,)"""
        size = len(self.pairs.diagnoses.values)
        found: Doubles = np.bincount(self.pairs.source, self.posterior, minlength=size).astype(np.float64)
        return {POSTERIOR: found, EXPECTED: self.calls}


def expected_calls(truth: Truth, cohort: Cohort) -> Doubles:
    """The mean number of procedures that each diagnosis calls for, (d,)."""
    calls = np.zeros(len(cohort.diagnosis_vocabulary))
    links = zip(*(truth.links.column(name).to_pylist() for name in ("diagnosis", "strength")), strict=True)
    for code, strength in links:
        if code is not None and (index := cohort.diagnosis_vocabulary.get(code)) is not None:
            calls[index] += strength
    return calls
