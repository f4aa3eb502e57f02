"""Speed of the transport solver, compared with POT's exact solver called stay by stay.

Run: python benchmarks/transport.py [--stays 3000] [--rounds 7] [--threads 2]
Cosine costs of random embeddings and of embeddings trained for 100 steps; stays of 1–41 × 1–40 codes, about 10 × 4.
POT solves exactly in float64; ours runs in float32 and stops at its default tolerances, which keeps the mean relative
distance from the optimum, shown in the table, well below 0.5 %. Timed in turns, median of the ratios. Prints Markdown.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numba
import numpy as np
import ot
import torch

from dx2px.methods.initial import InitConfig
from dx2px.methods.paper import objective
from dx2px.methods.paper.batch import PaperBatch
from dx2px.methods.paper.network import PaperConfig, PaperNetwork
from dx2px.methods.paper.step import PaperStep
from dx2px.methods.paper.transport import TransportConfig, solve
from references import SHAPES, batches


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stays", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    numba.set_num_threads(arguments.threads)
    shape = SHAPES[1]
    (batch,) = batches(shape, 1, arguments.stays)
    network = PaperNetwork(shape.diagnoses, shape.procedures, PaperConfig())
    network.init(torch.Generator().manual_seed(0), InitConfig("normal", 0.1))
    print(
        "| costs of | ours, µs per stay | POT, µs per stay | ratio | required (target) "
        "| mean gap | p99 gap | steps | unconverged |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    compare("random embeddings", network, batch, arguments.rounds)
    network.init(torch.Generator().manual_seed(0))
    stepper, training = PaperStep(network), batches(shape, 20, seed=1)
    for i in range(100):
        stepper.step(training[i % 20])
    compare("trained embeddings", network, batch, arguments.rounds)


def compare(name: str, network: PaperNetwork, batch: PaperBatch, rounds: int) -> None:
    with torch.no_grad():
        C = objective.cosine_costs(network.U, network.V, batch).numpy()
        mu = network.significance(batch.diagnoses).numpy()
    nu = objective.uniform_procedures(batch.procedures).numpy().astype(np.float32)
    rows, columns = batch.diagnoses.lengths, batch.procedures.lengths
    stays = list(
        zip(*(_split(x, n) for x, n in ((C, rows * columns), (mu, rows), (nu, columns))), strict=True)
    )
    exact = [(w / w.sum(), v / v.sum(), np.ascontiguousarray(c.reshape(len(w), -1))) for c, w, v in stays]
    result = solve(C, mu, nu, rows, columns)  # compiles
    ours, theirs = [], []
    for _ in range(rounds):
        start = perf_counter()
        for _ in range(5):
            result = solve(C, mu, nu, rows, columns, TransportConfig())
        ours.append((perf_counter() - start) / 5)
        start = perf_counter()
        for problem in exact:
            ot.emd(*problem)
        theirs.append(perf_counter() - start)
    optimum = np.array([ot.emd2(*problem) for problem in exact])
    gap = np.abs(result.cost - optimum) / optimum
    scale, ratio = 1e6 / len(rows), np.median(np.array(theirs) / np.array(ours))
    print(
        f"| {name} | {np.median(ours) * scale:.2f} | {np.median(theirs) * scale:.1f} | {ratio:.0f} | ≥ 20 (100) | "
        f"{gap.mean():.2%} | {np.quantile(gap, 0.99):.2%} | {result.iterations.mean():.0f} | {result.unconverged} |"
    )


def _split(flat: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    return np.split(flat.astype(np.float64), np.cumsum(lengths)[:-1])


if __name__ == "__main__":
    main()
