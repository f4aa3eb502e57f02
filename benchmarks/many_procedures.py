"""The default method as the procedures grow: a training step over all of them and over a sample, an answer likewise.

Run: python benchmarks/many_procedures.py [--procedures 7800 78000] [--rounds 3]
3,000 diagnoses, steps of 300 stays with all evidence, answers (scores, significance and the probabilities of the five
best) to single stays of about 10 diagnoses, over all procedures and by candidates, whose lists are there; the same
but for the significance of 256 stays of a file together, over all; and the list of a new diagnosis, made 64 at a time.
One thread. All in processor seconds, the least of the rounds, in which all of a table take turns. Random stays and
weights, a head that hears five hundred procedures. The step over all of 78,000 procedures takes some 5 GB of memory;
`--answers` leaves the steps out. Prints Markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from coupling import least, step_of
from dx2px.ragged import Ragged
from dx2px.scoring.calibration import Calibration
from dx2px.scoring.candidates import Candidates
from dx2px.scoring.coupling import CouplingScorer
from dx2px.scoring.curve import Curve
from dx2px.scoring.head import Head
from dx2px.scoring.ranking import top_l
from dx2px.scoring.segments import Floats
from dx2px.scoring.selection import SAMPLE
from dx2px.training.fit_head import FACTORS, HEARD
from random_models import KNOTS, random_arrays
from scoring import random_stays

DIAGNOSES, STAYS, ANSWERED, LISTS, BLOCK = 3_000, 300, 20, 64, 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--procedures", type=int, nargs="+", default=[7_800, 78_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--answers", action="store_true", help="Measure answers alone.")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with threadpool_limits(1, user_api="blas"):
        for kinds in [ANSWERS] if arguments.answers else [STEPS, ANSWERS]:
            table(kinds, arguments.procedures, arguments.rounds)


def table(kinds: dict[str, Kind], sizes: list[int], rounds: int) -> None:
    """Milliseconds of each kind and size, per stay, answer or list; all take turns."""
    works = {f"{name} {size}": kind.of(size) for name, kind in kinds.items() for size in sizes}
    seconds = least(works, rounds, 1)
    found = {
        name: [1e3 * seconds[f"{name} {size}"] / kind.each for size in sizes] for name, kind in kinds.items()
    }
    print("\n| procedures | " + " | ".join(f"{name} | relative" for name in found) + " |")
    print("|---" * (2 * len(found) + 1) + "|")
    for place, size in enumerate(sizes):
        cells = [f"{row[place]:.2f} | {row[place] / row[0]:.1f}" for row in found.values()]
        print(f"| {size:,} | " + " | ".join(cells) + " |", flush=True)


@dataclass(frozen=True)
class Kind:
    """What is measured: the work for a number of procedures, and how many stays, answers or lists it is."""

    of: Callable[[int], Callable[[], object]]
    each: int


@dataclass(frozen=True)
class Asked:
    """A random model, and stays that it is asked about."""

    few: Candidates
    stays: list[Ragged]
    block: Ragged

    @classmethod
    @cache
    def of(cls, procedures: int) -> Asked:
        arrays = random_arrays("coupling", DIAGNOSES, procedures)
        block = random_stays(BLOCK, DIAGNOSES, np.random.default_rng(0))
        few = Candidates(CouplingScorer(arrays), arrays["V"], random_calibration(procedures))
        return cls(few, [block.take([place]) for place in range(ANSWERED)], block)

    def in_full(self) -> None:
        for stay in self.stays:
            answer(self.few.scorer, self.few.calibration, stay)

    def by_candidates(self) -> None:
        for stay in self.stays:
            narrow = self.few.narrowed(stay)
            answer(narrow.scorer, narrow.calibration, stay)

    def in_blocks(self) -> None:
        likely(self.few.calibration, self.few.scorer.scores(self.block))

    def new_lists(self) -> None:
        Candidates(self.few.scorer, self.few.V, None).listed(np.arange(LISTS, dtype=np.int32))


def answer(scorer: CouplingScorer, calibration: Calibration | None, stay: Ragged) -> None:
    """Scores, significance and the probabilities of the five best, as a question asks for them."""
    again = Ragged(stay.offsets, stay.values)  # a scorer keeps the tables of the very stay it was asked about
    scores = scorer.scores(again)
    scorer.significance(again)
    likely(calibration, scores)


def likely(calibration: Calibration | None, scores: Floats) -> None:
    assert calibration is not None
    calibration.probability(scores, top_l(scores, 5).astype(np.int64))


def random_calibration(procedures: int) -> Calibration:
    """A stage of the usual size, with a head of 32 factors that hears the first procedures."""
    rng, curve = np.random.default_rng(1), Curve(KNOTS, np.sinh(KNOTS / 3))
    k, a = np.ones(procedures, np.float32), np.zeros(procedures, np.float32)
    q, W = rng.normal(0, 0.1, (2, procedures, FACTORS)).astype(np.float32)
    W[HEARD:] = 0
    weights = np.array([1.0, 0.1, 0.1, 0.0])
    return Calibration(
        True, curve, weights, curve, np.array([0.9]), np.array([0.1]), Head(k, a, q, W, 1.0, 0.0)
    )


STEPS = {
    "step over all, ms per stay": Kind(lambda size: step_of((DIAGNOSES, size), STAYS)[0], STAYS),
    "step over a sample, ms per stay": Kind(lambda size: step_of((DIAGNOSES, size), STAYS, SAMPLE)[0], STAYS),
}
ANSWERS = {
    "answer over all, ms": Kind(lambda size: Asked.of(size).in_full, ANSWERED),
    "answer by candidates, ms": Kind(lambda size: Asked.of(size).by_candidates, ANSWERED),
    "stay of a file over all, ms": Kind(lambda size: Asked.of(size).in_blocks, BLOCK),
    "list of a new code, ms": Kind(lambda size: Asked.of(size).new_lists, LISTS),
}


if __name__ == "__main__":
    main()
