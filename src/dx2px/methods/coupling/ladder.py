"""How far an adapted model may go from its start, which stays choose it, and what the runs on them have learned.

A rung says how a run learns; a share says how much is taken of the way from its start to its end. The training stays
are cut into parts, and there is a run without each. Where few stays validate, these runs help to choose; where more do,
only their stays are needed, to fit probabilities on; where very many do, not even these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dx2px.cohort import Cohort
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.training.batches import Rows
from dx2px.training.loop import Outcome, Weights
from dx2px.training.stays import HeldStays

ENOUGH = 300  # validation stays that choose by themselves
PLENTY = 2_000  # on which probabilities are fitted as well; docs/travel.md has what the cuts would gain there
CUTS = 4  # parts of the training stays; where there are fewer validation stays, they validate, too


@dataclass(frozen=True)
class Rung:
    """How far an adapted model may go from its start.

    Attributes:
        rate: Learning rate of Adam.
        pull: Pull towards the start, per unit of learning rate.
        epochs: Passes over the training stays.
    """

    rate: float
    pull: float
    epochs: int

    def __str__(self) -> str:
        return f"rate {self.rate:g}, pull {self.pull:g}, {self.epochs} epochs"


LADDER = (Rung(0.002, 1.0, 8), Rung(0.004, 0.3, 12), Rung(0.008, 0.3, 12))
SHARES = (0.25, 0.5, 0.75, 1.0)


class Lessons(HeldStays):
    """Stays to learn from; their rows of evidence are those of all training stays, so that runs can be averaged."""

    def __init__(self, cohort: Cohort, rows: Rows, layout: EvidenceLayout) -> None:
        super().__init__(cohort, rows)
        self._layout = layout

    def layout(self) -> EvidenceLayout:
        return self._layout


@dataclass(frozen=True, eq=False)
class Part:
    """Stays to learn from, and others that validate what was learned."""

    lessons: Lessons
    held_out: Cohort


def parts(cohort: Cohort, training: Rows, validation: Rows, seed: int) -> list[Part]:
    """The split as it is, and cuts of the training stays."""
    layout = HeldStays(cohort, training).layout()
    return [
        Part(Lessons(cohort, own, layout), cohort.subset(others))
        for own, others in _rows(training, validation, seed)
    ]


def _rows(training: Rows, validation: Rows, seed: int) -> Iterator[tuple[Rows, Rows]]:
    yield training, validation
    order = np.random.default_rng(seed).permutation(training)
    for cut in range(CUTS):
        others = order[cut::CUTS]
        yield np.setdiff1d(training, others), np.sort(others)


@dataclass(frozen=True, eq=False)
class Run:
    """What a run has learned, and what it started from."""

    start: Weights
    outcome: Outcome

    @classmethod
    def unmoved(cls, start: Weights) -> Run:
        """One that has learned nothing."""
        return cls(start, Outcome(start, [], 0, finished=True))

    def after(self, share: float) -> Outcome:
        """With the weights after a share of the way from the start."""
        way = ((name, start, self.outcome.weights[name]) for name, start in self.start.items())
        return replace(
            self.outcome,
            weights={name: start + np.float32(share) * (end - start) for name, start, end in way},
        )


def mean(runs: Sequence[Run], share: float) -> Outcome:
    """The first run, with the mean of the weights of all after a share of the way."""
    found = [run.after(share) for run in runs]
    weights: Weights = {
        name: np.mean(np.stack([one.weights[name] for one in found]), axis=0) for name in found[0].weights
    }
    return replace(found[0], weights=weights)
