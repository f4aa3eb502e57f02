"""The default method as the procedures grow: a training step, and an answer with its reasons.

Run: python benchmarks/many_procedures.py [--procedures 1000 4000 16000] [--rounds 3]
3,000 diagnoses, steps of 50 stays with all evidence, answers to single stays of about 10 diagnoses, one thread. All in
processor seconds, the least of the rounds, in which all sizes take turns. Random stays and weights. Prints Markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from coupling import least, step_of
from dx2px.ragged import Ragged
from dx2px.scoring.coupling import CouplingScorer
from random_models import random_arrays
from scoring import random_stays

DIAGNOSES, STAYS, ANSWERS = 3_000, 50, 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--procedures", type=int, nargs="+", default=[1_000, 4_000, 16_000])
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with threadpool_limits(1, user_api="blas"):
        steps = {str(size): step_of((DIAGNOSES, size), STAYS)[0] for size in arguments.procedures}
        answers = {str(size): answers_of(size) for size in arguments.procedures}
        step, answer = (least(runs, arguments.rounds, 1) for runs in (steps, answers))
    first = str(arguments.procedures[0])
    print(f"| procedures | step, ms per stay | relative to {first} | answer, ms | relative to {first} |")
    print("|---|---|---|---|---|")
    for size in arguments.procedures:
        name = str(size)
        cells = f"{1e3 * step[name] / STAYS:.2f} | {step[name] / step[first]:.1f}"
        more = f"{1e3 * answer[name] / ANSWERS:.2f} | {answer[name] / answer[first]:.1f}"
        print(f"| {size:,} | {cells} | {more} |", flush=True)


def answers_of(procedures: int) -> Callable[[], object]:
    """Scores and reasons of single stays, as a question asks for them."""
    scorer = CouplingScorer(random_arrays("coupling", DIAGNOSES, procedures))
    stays = random_stays(ANSWERS, DIAGNOSES, np.random.default_rng(0))
    single = [Ragged.from_lists([stays[place]]) for place in range(len(stays))]
    return lambda: [(scorer.scores(stay), scorer.significance(stay)) for stay in single]


if __name__ == "__main__":
    main()
