"""How many diagnoses does the paper's self-attention look at? On test stays with five or more diagnoses.

Run: python studies/attention_width.py COHORT [--epochs 8]
The effective number of diagnoses is the exponential of the entropy of μ. Split by stay, seed 0. Prints Markdown;
docs/results.md has the numbers.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from dx2px import Cohort, PaperConfig, PaperTraining, RunConfig, SplitConfig, train


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cohort", type=Path)
    parser.add_argument("--epochs", type=int, default=8)
    arguments = parser.parse_args()
    cohort = Cohort.load(arguments.cohort)
    training = PaperTraining(model=PaperConfig(variant="e+sa"), epochs=arguments.epochs)
    trained = train(cohort, RunConfig(training, SplitConfig(by="stay")))
    stays = cohort.subset(trained.split.test).diagnoses
    mu = trained.scorer.significance(stays)
    entropy = np.bincount(stays.row_of_entry, -mu * np.log(np.maximum(mu, 1e-12)))
    largest = np.maximum.reduceat(mu, stays.offsets[:-1])
    many = stays.lengths >= 5
    print("| stays | diagnoses per stay | effective number | largest weight | train F1@1, % | test F1@1, % |")
    print("|---|---|---|---|---|---|")
    f1 = [trained.evaluate(part).mean("f1")[1] for part in ("train", "test")]
    print(
        f"| {many.sum():,} | {stays.lengths[many].mean():.1f} | {np.exp(entropy[many]).mean():.1f} | "
        f"{largest[many].mean():.0%} | {f1[0]:.1f} | {f1[1]:.1f} |"
    )


if __name__ == "__main__":
    main()
