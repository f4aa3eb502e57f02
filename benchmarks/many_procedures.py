"""The default method as the procedures grow: a training step over all of them, one over a sample, and an answer.

Run: python benchmarks/many_procedures.py [--procedures 7800 78000] [--rounds 3]
3,000 diagnoses, steps of 300 stays with all evidence, answers (scores and significance) to single stays of about 10
diagnoses, one thread. All in processor seconds, the least of the rounds, in which all sizes take turns. Random stays
and weights. The step over all of 78,000 procedures takes some 5 GB of memory. Prints Markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from coupling import least, step_of
from dx2px.methods.coupling.size import SAMPLE
from dx2px.ragged import Ragged
from dx2px.scoring.coupling import CouplingScorer
from random_models import random_arrays
from scoring import random_stays

DIAGNOSES, STAYS, ANSWERS = 3_000, 300, 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--procedures", type=int, nargs="+", default=[7_800, 78_000])
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    kinds: dict[str, Callable[[int], Callable[[], object]]] = {
        "step over all, ms per stay": lambda size: step_of((DIAGNOSES, size), STAYS)[0],
        "step over a sample, ms per stay": lambda size: step_of((DIAGNOSES, size), STAYS, SAMPLE)[0],
        "answer, ms": answers_of,
    }
    with threadpool_limits(1, user_api="blas"):
        table = {name: measured(kind, arguments.procedures, arguments.rounds) for name, kind in kinds.items()}
    print("| procedures | " + " | ".join(f"{name} | relative" for name in table) + " |")
    print("|---" * (2 * len(table) + 1) + "|")
    for size in arguments.procedures:
        cells = [
            f"{row[size]:.2f} | {row[size] / row[arguments.procedures[0]]:.1f}" for row in table.values()
        ]
        print(f"| {size:,} | " + " | ".join(cells) + " |", flush=True)


def measured(kind: Callable[[int], Callable[[], object]], sizes: list[int], rounds: int) -> dict[int, float]:
    """Milliseconds of each size, per stay or answer."""
    found = least({str(size): kind(size) for size in sizes}, rounds, 1)
    each = ANSWERS if kind is answers_of else STAYS
    return {size: 1e3 * found[str(size)] / each for size in sizes}


def answers_of(procedures: int) -> Callable[[], object]:
    """Scores and reasons of single stays, as a question asks for them."""
    scorer = CouplingScorer(random_arrays("coupling", DIAGNOSES, procedures))
    stays = random_stays(ANSWERS, DIAGNOSES, np.random.default_rng(0))
    single = [Ragged.from_lists([stays[place]]) for place in range(len(stays))]
    return lambda: [(scorer.scores(stay), scorer.significance(stay)) for stay in single]


if __name__ == "__main__":
    main()
