"""Coding mistakes planted into stays, at most one per stay, to see whether an audit finds them.

removed     one of the procedures is left out, in stays that have several
random      a procedure is added: any that the stay does not have
another     a procedure is added from another stay, drawn at random: frequent ones come more often
plausible   a procedure is added from the training stay with the most similar diagnoses that has a new one

Every stay of a cohort has at least one procedure, so a stay that lost its only one would be found by that alone.
This is why `removed` takes stays with several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dx2px.cohort import Cohort
from dx2px.ragged import Ragged
from dx2px.scoring.metrics import BATCH

NEIGHBOURS = 10_000  # training stays among which the most similar is sought
_DRAWS = 20  # entries drawn per stay until one is new to it

Indices = NDArray[np.int64]
Marks = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Mistakes:
    """One procedure per stay that was left out or added."""

    stay: Indices
    procedure: Indices
    left_out: bool

    def applied(self, coded: Marks) -> Marks:
        """What is coded once the mistakes are made, (i, p)."""
        changed = coded.copy()
        changed[self.stay, self.procedure] = not self.left_out
        return changed


def coded_procedures(stays: Cohort) -> Marks:
    """True where a stay has a procedure, (i, p)."""
    return stays.procedures.indicator(len(stays.procedure_vocabulary))


def removed(tested: Cohort, training: Cohort, rng: np.random.Generator) -> Mistakes:
    """Leave out one procedure of each stay that has several."""
    stays = np.flatnonzero(tested.procedures.lengths > 1)
    lost = [rng.choice(tested.procedures[stay]) for stay in stays.tolist()]
    return Mistakes(stays, np.array(lost, np.int64), left_out=True)


def random(tested: Cohort, training: Cohort, rng: np.random.Generator) -> Mistakes:
    """Add any procedure that the stay does not have."""
    keys = rng.random((len(tested), len(tested.procedure_vocabulary)))
    keys[coded_procedures(tested)] = -1
    return Mistakes(np.arange(len(tested)), keys.argmax(axis=1), left_out=False)


def another(tested: Cohort, training: Cohort, rng: np.random.Generator) -> Mistakes:
    """Add the first of some drawn procedures of training stays that the stay does not have."""
    coded, stays = coded_procedures(tested), np.arange(len(tested))
    drawn = rng.choice(training.procedures.values, (len(tested), _DRAWS)).astype(np.int64)
    new = ~coded[stays[:, None], drawn]
    some = new.any(axis=1)
    return Mistakes(stays[some], drawn[stays, new.argmax(axis=1)][some], left_out=False)


def plausible(tested: Cohort, training: Cohort, rng: np.random.Generator) -> Mistakes:
    """Add a procedure of the most similar training stay, by the cosine of the sets of diagnoses."""
    others = training.subset(np.sort(rng.permutation(len(training))[:NEIGHBOURS]))
    theirs, size = _unit_sets(others.diagnoses, len(others.diagnosis_vocabulary)), BATCH // 8
    coded = coded_procedures(tested)
    found = [
        _borrowed(stay, np.argsort(-near, kind="stable"), others.procedures, coded[stay], rng)
        for start, some in zip(range(0, len(tested), size), tested.diagnoses.blocks(size), strict=True)
        for stay, near in enumerate(_unit_sets(some, theirs.shape[1]) @ theirs.T, start=start)
    ]
    pairs = np.array([pair for pair in found if pair is not None], np.int64).reshape(-1, 2)
    return Mistakes(pairs[:, 0], pairs[:, 1], left_out=False)


KINDS: Mapping[str, Callable[[Cohort, Cohort, np.random.Generator], Mistakes]] = {
    "removed": removed,
    "random": random,
    "another": another,
    "plausible": plausible,
}


def _borrowed(
    stay: int, order: Indices, procedures: Ragged, own: Marks, rng: np.random.Generator
) -> tuple[int, int] | None:
    """The stay and a procedure of the first stay in this order that has a new one."""
    for other in order:
        new = procedures[int(other)][~own[procedures[int(other)]]]
        if len(new):
            return stay, int(rng.choice(new))
    return None


def _unit_sets(rows: Ragged, size: int) -> NDArray[np.float32]:
    """Each set as a vector of length 1, so that products are cosines."""
    sets = rows.indicator(size).astype(np.float32)
    return sets / np.sqrt(np.maximum(rows.lengths, 1)).astype(np.float32)[:, None]
