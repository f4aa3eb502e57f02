"""Time of a training step of E+SA+MA as the vocabulary grows.

Run: python benchmarks/vocabulary.py [--rounds 15] [--threads 2] [--codes 3000 30000 150000]
Every batch has the same numbers of stays, codes and distinct codes; only the vocabulary they are spread over grows,
each batch over other rows of it. 70 of 148 codes are diagnoses. Adam updates every row of the embeddings at every
step, so its part of the time grows with the vocabulary. All sizes are timed in turns; ratios are medians over the
turns. Prints Markdown.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numba
import numpy as np
import torch

from dx2px.methods.paper.batch import PaperBatch
from dx2px.methods.paper.network import PaperConfig, PaperNetwork
from dx2px.methods.paper.step import PaperStep
from dx2px.ragged import Ragged
from references import Shape, batches

STEPS = 10  # per round
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
    runs = {codes: Run(codes, made) for codes in arguments.codes}
    times: dict[int, list[float]] = {codes: [] for codes in runs}
    for _ in range(arguments.rounds):
        for codes, run in runs.items():
            times[codes].append(run.milliseconds())
    report(times)


def report(times: dict[int, list[float]]) -> None:
    first = next(iter(times))
    print(f"| codes | ms per step | relative to {first:,} codes |")
    print("|---|---|---|")
    for codes, values in times.items():
        ratio = np.median(np.array(values) / np.array(times[first]))
        print(f"| {codes:,} | {np.median(values):.1f} | {ratio:.2f} |")


class Run:
    """A model over a vocabulary, and batches spread over it."""

    def __init__(self, codes: int, made: list[PaperBatch]) -> None:
        self.sizes = codes * 70 // 148, codes - codes * 70 // 148
        network = PaperNetwork(*self.sizes, PaperConfig()).init(torch.Generator().manual_seed(0))
        self.stepper = PaperStep(network)
        self.rng, self.made = np.random.default_rng(0), made
        self.milliseconds()  # compiles

    def milliseconds(self) -> float:
        """The median over some steps."""
        times = []
        for _ in range(STEPS):
            batch = self._spread(self.made[self.rng.integers(len(self.made))])
            start = perf_counter()
            self.stepper.step(batch)
            times.append(1e3 * (perf_counter() - start))
        return float(np.median(times))

    def _spread(self, batch: PaperBatch) -> PaperBatch:
        """The batch with its codes replaced by others, drawn from the whole vocabulary."""
        dx, px = (
            self.rng.choice(size, used, replace=False).astype(np.int32)
            for size, used in zip(self.sizes, (SMALL.diagnoses, SMALL.procedures), strict=True)
        )

        def renumbered(rows: Ragged, codes: np.ndarray) -> Ragged:
            return Ragged(rows.offsets, codes[rows.values])

        return PaperBatch(
            renumbered(batch.diagnoses, dx),
            renumbered(batch.procedures, px),
            negatives=renumbered(batch.negatives, px),
        )


if __name__ == "__main__":
    main()
