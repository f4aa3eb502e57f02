"""Time of a training step of E+SA+MA as the vocabulary grows; prints a Markdown table.

    python benchmarks/vocabulary.py [--rounds 15] [--threads 2] [--codes 3000 30000 150000]

Every batch has the same numbers of stays, codes and distinct codes; only the table they are spread over grows, each
batch over other rows of it. Half of the codes (70 of 148) are diagnoses. *Plain* is Adam that updates every row at
every step, *lazy* updates the rows of the batch and brings others up to date when they are next read. All sizes are
timed in turns, and ratios are medians over the turns.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numba
import numpy as np
import torch

from dx2px.model.batch import Batch
from dx2px.model.network import ModelConfig, Network
from dx2px.model.step import Stepper
from dx2px.ragged import Ragged
from references import Shape, batches

STEPS = 10  # a round
SMALL = Shape("3,000 codes", 1418, 1582, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--codes", type=int, nargs="+", default=[3_000, 30_000, 150_000])
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    numba.set_num_threads(arguments.threads)
    made = batches(SMALL, 12)
    runs = {(codes, lazy): Run(codes, lazy, made) for codes in arguments.codes for lazy in (False, True)}
    times = {key: [] for key in runs}
    for _ in range(arguments.rounds):
        for key, run in runs.items():
            times[key].append(run.milliseconds())
    report(times)


def report(times: dict[tuple[int, bool], list[float]]) -> None:
    print("| codes | plain, ms a step | lazy, ms a step | lazy against the smallest |")
    print("|---|---|---|---|")
    first = next(codes for codes, _ in times)
    for codes in dict.fromkeys(codes for codes, _ in times):
        ratio = np.median(np.array(times[codes, True]) / np.array(times[first, True]))
        plain, lazy = (np.median(times[codes, kind]) for kind in (False, True))
        print(f"| {codes:,} | {plain:.1f} | {lazy:.1f} | {ratio:.2f} |")


class Run:
    """A model over a vocabulary, and batches spread over it."""

    def __init__(self, codes: int, lazy: bool, made: list[Batch]) -> None:
        self.sizes = codes * 70 // 148, codes - codes * 70 // 148
        network = Network(*self.sizes, ModelConfig()).init(torch.Generator().manual_seed(0))
        self.stepper = Stepper(network, lazy=lazy)
        self.rng, self.made = np.random.default_rng(0), made
        self.milliseconds()  # compiles

    def milliseconds(self) -> float:
        """Of a step, the median."""
        times = []
        for _ in range(STEPS):
            batch = self._spread(self.made[self.rng.integers(len(self.made))])
            start = perf_counter()
            self.stepper.step(batch)
            times.append(1e3 * (perf_counter() - start))
        return float(np.median(times))

    def _spread(self, batch: Batch) -> Batch:
        """The batch with its codes given other numbers, drawn anew from the whole vocabulary."""
        dx, px = (
            self.rng.choice(size, used, replace=False).astype(np.int32)
            for size, used in zip(self.sizes, (SMALL.diagnoses, SMALL.procedures), strict=True)
        )
        parts = ((batch.diagnoses, dx), (batch.procedures, px), (batch.negatives, px))
        return Batch(*(Ragged(rows.offsets, places[rows.values]) for rows, places in parts))


if __name__ == "__main__":
    main()
