"""How many planted mistakes an audit finds, on stays that a method did not learn from.

Four mistakes are planted, one a stay, each by itself:

removed     one of the procedures of a stay that has several is left out
random      a procedure is added, any that the stay does not have
another     a procedure is added from another stay, drawn at random: frequent ones come more often
plausible   a procedure is added from the training stay with the most similar diagnoses that has another one

A budget is a number of findings per 100 stays in which nothing was planted: the false alarms one is ready to look
through, though some may be true mistakes of the data. Recall is the share of planted mistakes that are stronger than
the weakest finding within the budget. So no rate of mistakes need be assumed. Intervals come from drawing stays anew.

That each stay has at least one procedure is a rule of cohorts; a stay that lost its only one would be found by this
alone. So `removed` takes stays with several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort import Cohort
from dx2px.evaluation.metrics import BATCH, Scores
from dx2px.model.calibration import Calibration
from dx2px.model.defects import (
    AuditSettings,
    Doubles,
    missing_strength,
    unsupported_strength,
    wrong_shares,
)
from dx2px.ragged import Ragged

BUDGETS = (1, 5, 10)
PRECISIONS = (0.05, 0.1, 0.2, 0.3, 0.5)
RESAMPLES, LEVEL, ROUNDS = 200, 0.95, 20
NEIGHBOURS = 10_000  # training stays among which the most similar is sought
_STRONGEST = 50  # findings per 100 stays that are kept to set thresholds by

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Audited:
    """A method whose audit is measured."""

    method: str
    scores: Scores
    calibration: Calibration
    procedure_counts: Sequence[int] | None  # training stays with each


@dataclass(frozen=True, eq=False)
class Strengths:
    """Numbers that belong to stays."""

    stay: Indices
    strength: Doubles

    def strongest(self, count: int) -> Strengths:
        order = np.argsort(-self.strength, kind="stable")[:count]
        return Strengths(self.stay[order], self.strength[order])


@dataclass(frozen=True)
class Recall:
    """The share of planted mistakes found within a budget, per cent, with its interval."""

    defect: str
    per_100: int
    recall: float
    low: float
    high: float


@dataclass(frozen=True)
class Precision:
    """What findings at least so strong were, when mistakes were planted at the stated rates."""

    kind: str
    stated: float
    measured: float | None  # None where there was no finding
    per_100: float  # findings per 100 stays


@dataclass(frozen=True)
class AuditStudy:
    """What was measured of one method."""

    method: str
    stays: int
    recalls: tuple[Recall, ...]
    precisions: tuple[Precision, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def audit_study(
    audited: Audited,
    tested: Cohort,
    training: Cohort,
    settings: AuditSettings | None = None,
    *,
    seed: int = 0,
) -> AuditStudy:
    """Measure an audit on test stays; every method meets the same mistakes, which the seed decides."""
    settings = settings or AuditSettings()
    P = np.concatenate(
        [audited.calibration.probability(audited.scores(some)) for some in tested.diagnoses.blocks(BATCH)]
    )
    subject = _Subject(P, _marked(tested), wrong_shares(audited.procedure_counts, P.shape[1]), settings)
    times = _resamples(len(tested), seed)
    recalls = [
        recall
        for name, plant in DEFECTS.items()
        for recall in _recalls(name, *subject.told(name, plant(tested, training, _rng(seed, name))), times)
    ]
    return AuditStudy(
        audited.method, len(tested), tuple(recalls), subject.precisions(_rng(seed, "precision"))
    )


def recall_within(clean: Strengths, planted: Strengths, per_100: float, weights: Doubles) -> float:
    """The weighted share of planted mistakes above the budget's threshold, ties shared out evenly.

    `clean` falls in strength; `weights` says how often each stay counts.
    """
    budget = per_100 / 100 * weights.sum()
    used = np.cumsum(weights[clean.stay])
    place = int(np.searchsorted(used, budget))
    threshold = clean.strength[place] if place < len(used) else -np.inf
    w = weights[planted.stay]
    above, at = (clean.strength > threshold, clean.strength == threshold)
    tied = weights[clean.stay][at].sum()
    share = min((budget - weights[clean.stay][above].sum()) / tied, 1.0) if tied else 0.0
    found = w[planted.strength > threshold].sum() + share * w[planted.strength == threshold].sum()
    return float(found / w.sum())


@dataclass(frozen=True, eq=False)
class _Subject:
    """Probabilities of a method for the tested stays, and what was coded, each (i, p)."""

    P: Doubles
    coded: NDArray[np.bool_]
    shares: Doubles  # (p,)
    settings: AuditSettings

    def told(self, defect: str, planted: tuple[Indices, Indices]) -> tuple[Strengths, Strengths]:
        """Strengths of the findings in stays as they are, strongest first, and those of the planted mistakes."""
        absent = defect == "removed"
        stay, procedure = np.nonzero(self.coded != absent)
        strength = self._missing if absent else self._unsupported
        count = _STRONGEST * len(self.P) // 100 + 1
        clean = Strengths(stay, strength(stay, procedure)).strongest(count)
        return clean, Strengths(planted[0], strength(*planted))

    def precisions(self, rng: np.random.Generator) -> tuple[Precision, ...]:
        """Findings of both kinds, over rounds of mistakes planted at the settings' rates."""
        found: dict[str, list[tuple[Doubles, NDArray[np.bool_]]]] = {"unsupported": [], "missing": []}
        for _ in range(ROUNDS):
            left_out = self.coded & (rng.random(self.coded.shape) < self.settings.omitted)
            found["missing"].append(self._judged(~self.coded | left_out, left_out, self._missing))
            wrong = self._wrong(rng)
            found["unsupported"].append(self._judged(self.coded | wrong, wrong, self._unsupported))
        stays = len(self.P) * ROUNDS
        return tuple(
            _precision(kind, stated, parts, stays) for kind, parts in found.items() for stated in PRECISIONS
        )

    def _judged(
        self, asked: NDArray[np.bool_], mistaken: NDArray[np.bool_], strength: Callable[..., Doubles]
    ) -> tuple[Doubles, NDArray[np.bool_]]:
        place = np.nonzero(asked)
        found = strength(*place)
        strong = found >= min(PRECISIONS)
        return found[strong], mistaken[place][strong]

    def _wrong(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Procedures added to some stays, drawn with the shares that the strength assumes."""
        added = np.zeros_like(self.coded)
        stays = np.flatnonzero(rng.random(len(self.P)) < self.settings.wrong)
        added[stays, rng.choice(len(self.shares), len(stays), p=self.shares)] = True
        return added & ~self.coded

    def _missing(self, stay: Indices, procedure: Indices) -> Doubles:
        return missing_strength(self.P[stay, procedure], self.settings.omitted)

    def _unsupported(self, stay: Indices, procedure: Indices) -> Doubles:
        return unsupported_strength(self.P[stay, procedure], self.shares[procedure], self.settings.wrong)


def _removed(tested: Cohort, training: Cohort, rng: np.random.Generator) -> tuple[Indices, Indices]:
    stays = np.flatnonzero(tested.procedures.lengths > 1)
    return stays, np.array([rng.choice(tested.procedures[stay]) for stay in stays.tolist()], np.int64)


def _random(tested: Cohort, training: Cohort, rng: np.random.Generator) -> tuple[Indices, Indices]:
    keys = rng.random((len(tested), len(tested.procedure_vocabulary)))
    keys[_marked(tested)] = -1
    return np.arange(len(tested)), keys.argmax(axis=1)


def _another(tested: Cohort, training: Cohort, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """The procedure of the first of some drawn entries that the stay does not have."""
    coded = _marked(tested)
    stays = np.arange(len(tested))
    drawn = rng.choice(training.procedures.values, (len(tested), 20)).astype(np.int64)
    new = ~coded[stays[:, None], drawn]
    some = new.any(axis=1)
    return stays[some], drawn[stays, new.argmax(axis=1)][some]


def _plausible(tested: Cohort, training: Cohort, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Similar is the cosine of the sets of diagnoses: those shared, over the root of both numbers."""
    others = training.subset(np.sort(rng.permutation(len(training))[:NEIGHBOURS]))
    theirs, size = _unit_sets(others.diagnoses, len(others.diagnosis_vocabulary)), BATCH // 8
    coded = _marked(tested)
    found = [
        _borrowed(stay, np.argsort(-near, kind="stable"), others.procedures, coded[stay], rng)
        for start, some in zip(range(0, len(tested), size), tested.diagnoses.blocks(size), strict=True)
        for stay, near in enumerate(_unit_sets(some, theirs.shape[1]) @ theirs.T, start=start)
    ]
    pairs = np.array([pair for pair in found if pair is not None], np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _borrowed(
    stay: int, order: Indices, procedures: Ragged, own: NDArray[np.bool_], rng: np.random.Generator
) -> tuple[int, int] | None:
    for other in order:
        new = procedures[int(other)][~own[procedures[int(other)]]]
        if len(new):
            return stay, int(rng.choice(new))
    return None


DEFECTS: Mapping[str, Callable[[Cohort, Cohort, np.random.Generator], tuple[Indices, Indices]]] = {
    "removed": _removed,
    "random": _random,
    "another": _another,
    "plausible": _plausible,
}


def _recalls(defect: str, clean: Strengths, planted: Strengths, times: Doubles) -> list[Recall]:
    told = []
    for per_100 in BUDGETS:
        value = recall_within(clean, planted, per_100, np.ones(times.shape[1]))
        drawn = [recall_within(clean, planted, per_100, weights) for weights in times]
        low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        told.append(Recall(defect, per_100, 100 * value, 100 * float(low), 100 * float(high)))
    return told


def _precision(
    kind: str, stated: float, parts: Sequence[tuple[Doubles, NDArray[np.bool_]]], stays: int
) -> Precision:
    mistaken = np.concatenate([wrong[strength >= stated] for strength, wrong in parts])
    measured = float(mistaken.mean()) if len(mistaken) else None
    return Precision(kind, stated, measured, 100 * len(mistaken) / stays)


def _resamples(stays: int, seed: int) -> Doubles:
    rng = _rng(seed, "resamples")
    drawn = [np.bincount(rng.integers(0, stays, stays), minlength=stays) for _ in range(RESAMPLES)]
    return np.array(drawn, np.float64)


def _rng(seed: int, name: str) -> np.random.Generator:
    """One stream of draws for each purpose, so that none depends on the others."""
    return np.random.default_rng([seed, *name.encode()])


def _marked(stays: Cohort) -> NDArray[np.bool_]:
    coded = np.zeros((len(stays), len(stays.procedure_vocabulary)), np.bool_)
    coded[stays.procedures.row_of_entry, stays.procedures.values] = True
    return coded


def _unit_sets(rows: Ragged, size: int) -> NDArray[np.float32]:
    sets = np.zeros((len(rows), size), np.float32)
    sets[rows.row_of_entry, rows.values] = 1
    return sets / np.sqrt(np.maximum(rows.lengths, 1)).astype(np.float32)[:, None]
