"""How many diagnoses does the paper's self-attention look at? On test stays with five or more diagnoses.

Run: python studies/attention_width.py COHORT [--method e+sa] [--rates 0.001 0.003] [--starts 0.1] [--epochs 8 25]
A row for each learning rate, start and number of epochs; weights of the last epoch. The effective number of diagnoses
is the exponential of the entropy of μ. Split by stay, seed 0. Prints Markdown; docs/results.md has the numbers.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

import numpy as np

from dx2px import Cohort, SplitConfig
from dx2px.methods import recommender
from dx2px.training.run import Trained, learn

HEAD = (
    "learning rate",
    "start",
    "epochs",
    "effective number",
    "largest weight",
    "train F1@1, %",
    "test F1@1, %",
)


def width(trained: Trained) -> tuple[float, float]:
    """The mean effective number of diagnoses, and the mean largest weight."""
    stays = trained.stays("test").diagnoses
    mu = np.asarray(trained.scorer.significance(stays))
    entropy = np.bincount(stays.row_of_entry, -mu * np.log(np.maximum(mu, 1e-12)))
    largest = np.maximum.reduceat(mu, stays.offsets[:-1])
    many = stays.lengths >= 5
    return float(np.exp(entropy[many]).mean()), float(largest[many].mean())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cohort", type=Path)
    parser.add_argument("--method", default="e+sa")
    parser.add_argument("--rates", nargs="+", type=float, default=[0.001, 0.003])
    parser.add_argument("--starts", nargs="+", type=float, default=[0.1])
    parser.add_argument("--epochs", nargs="+", type=int, default=[8, 25])
    arguments = parser.parse_args()
    cohort = Cohort.load(arguments.cohort)
    print(f"| {' | '.join(HEAD)} |\n{'|---' * len(HEAD)}|")
    for lr, start, epochs in product(arguments.rates, arguments.starts, arguments.epochs):
        method = recommender(arguments.method, lr=lr, start=start, epochs=epochs)
        trained = learn(cohort, method, SplitConfig(by="stay"), threads=1)
        effective, largest = width(trained)
        f1 = [trained.evaluate(part).mean("f1")[1] for part in ("train", "test")]
        print(
            f"| {lr} | {start} | {epochs} | {effective:.1f} | {largest:.0%} | {f1[0]:.1f} | {f1[1]:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
