"""Speed of one training step of E+SA+MA, compared with references.

Run: python benchmarks/step.py [--rounds 7] [--threads 2]
All are timed in turns in one run and compared by the median of the ratios of each turn, so that a busy machine slows
all of them alike. A step is forward, backward, transport and the Adam update, in float32; weights are those after 100
steps, batches have 300 stays. Drawing the batch and its negatives is not included. Prints Markdown.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Callable
from time import perf_counter

import numba
import numpy as np
import torch

from dx2px.methods.paper.batch import PaperBatch
from dx2px.methods.paper.network import PaperConfig, PaperNetwork
from dx2px.methods.paper.step import PaperStep
from references import SHAPES, Floor, Literal, Padded, Shape, batches

LIMITS = {
    ("small", "literal"): "≥ 80 (200)",
    ("small", "padded"): "≥ 15 (30)",
    ("small", "floor"): "≤ 4 (2)",
    ("medium", "padded"): "≥ 8 (15)",
    ("large", "padded"): "≥ 5 (10)",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    numba.set_num_threads(arguments.threads)
    print("| shape | codes per batch | ours, ms | compared with | theirs, ms | ratio | required (target) |")
    print("|---|---|---|---|---|---|---|")
    for shape in SHAPES:
        compare(shape, arguments.rounds)


def compare(shape: Shape, rounds: int) -> None:
    made = batches(shape, 20)
    network = PaperNetwork(shape.diagnoses, shape.procedures, PaperConfig()).init(
        torch.Generator().manual_seed(0)
    )
    stepper = PaperStep(network)
    for i in range(100):
        stepper.step(made[i % len(made)])
    codes = int(np.mean([len(np.unique(batch.diagnoses.values)) for batch in made]))
    padded, literal = (kind(copy.deepcopy(network)) for kind in (Padded, Literal))
    floor = Floor(codes, network.config.dim, network.config.heads)
    runs: dict[str, Callable[[PaperBatch], object]] = {"padded": padded.step, "floor": lambda _: floor.step()}
    if shape.name == "small":
        runs = {"literal": literal.step} | runs
    repeats = {"ours": 20, "floor": 20, "padded": 2, "literal": 1}
    times: dict[str, list[float]] = {name: [] for name in ("ours", *runs)}
    for _ in range(rounds):
        for name, run in {"ours": stepper.step, **runs}.items():
            times[name].append(timed(run, made, repeats[name]))
    ours = np.array(times.pop("ours"))
    for name, values in times.items():
        ratio = ours / np.array(values) if name == "floor" else np.array(values) / ours
        print(
            f"| {shape.name} {shape.diagnoses} · {shape.procedures} | {codes} | {1e3 * np.median(ours):.2f} | {name} | "
            f"{1e3 * np.median(values):.1f} | {np.median(ratio):.2f} | {LIMITS.get((shape.name, name), '')} |"
        )


def timed(run: Callable[[PaperBatch], object], made: list[PaperBatch], repeats: int) -> float:
    """Seconds per step: the median over different batches, after one to warm up."""
    seconds = []
    for batch in made[: repeats + 1]:
        start = perf_counter()
        run(batch)
        seconds.append(perf_counter() - start)
    return float(np.median(seconds[1:]))


if __name__ == "__main__":
    main()
