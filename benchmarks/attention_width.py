"""How many diagnoses the self-attention looks at: effective number and largest weight, on test stays with five or more.

Run: python benchmarks/attention_width.py COHORT [--epochs 8]
The effective number is the exponential of the entropy of μ. Split by stay, seed 0.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from dx2px import Cohort, RunConfig, SplitConfig, TrainingConfig, train
from dx2px.evaluation.paper import PaperModel
from dx2px.model.network import ModelConfig


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cohort", type=Path)
    parser.add_argument("--epochs", type=int, default=8)
    arguments = parser.parse_args()
    cohort = Cohort.load(arguments.cohort)
    training = TrainingConfig(model=ModelConfig(variant="e+sa"), epochs=arguments.epochs)
    trained = train(cohort, RunConfig(training, SplitConfig(by="stay")))
    made = trained.recommender
    assert isinstance(made, PaperModel)
    stays = cohort.subset(trained.split.test).diagnoses
    with torch.no_grad():
        mu = made.network.significance(stays).numpy()
    entropy = np.bincount(stays.row_of_entry, -mu * np.log(np.maximum(mu, 1e-12)))
    largest = np.maximum.reduceat(mu, stays.offsets[:-1])
    many = stays.lengths >= 5
    print("| stays | diagnoses a stay | effective number | largest weight | train F1@1 | test F1@1 |")
    print("|---|---|---|---|---|---|")
    f1 = [trained.evaluate(part).mean("f1")[1] for part in ("train", "test")]
    print(
        f"| {many.sum():,} | {stays.lengths[many].mean():.1f} | {np.exp(entropy[many]).mean():.1f} | "
        f"{largest[many].mean():.0%} | {f1[0]:.1f} | {f1[1]:.1f} |"
    )


if __name__ == "__main__":
    main()
