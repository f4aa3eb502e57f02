"""Would a wider grid have helped? Validation F1@5 of the tuned baselines, inside their grids and beyond.

Run: python studies/grids.py COHORT… [--folds 1] [--mlp]
Split by stay, the first folds of ten inside 80 %. Co-occurrence with less smoothing than its grid has, logistic
regression with stronger ridges; with --mlp also the perceptron, dropout 0.7 and 0.8, with twice the hidden units and
twice the patience, a minute or two each. Prints Markdown;
docs/baselines.md has the numbers.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import torch

from dx2px.methods.cooccurrence import Cooccurrence, CooccurrenceConfig
from dx2px.methods.linear.linear import Linear, LinearConfig
from dx2px.methods.mlp import Mlp, MlpConfig
from dx2px.training.recommender import Recommender
from pairs import Pairs

NOT_SETTINGS = ("validation_f1", "iterations", "unconverged", "form")


def methods(with_mlp: bool) -> Iterator[tuple[str, Recommender]]:
    """Each with the values at the edge of its grid and those beyond."""
    yield "cooccurrence", Cooccurrence(CooccurrenceConfig(("mean",), (0.001, 0.01, 0.1, 1.0)))
    yield "linear", Linear(LinearConfig((100.0, 30.0, 10.0, 3.0)))
    if with_mlp:
        for hidden, patience in ((512, 3), (512, 6), (1024, 3), (1024, 6)):
            config = MlpConfig(("bce",), 0.7, (0.8,), (), hidden=hidden, patience=patience)
            yield f"mlp, {hidden:,} units, patience {patience}", Mlp(config)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cohorts", type=Path, nargs="+")
    parser.add_argument("--folds", type=int, default=1)
    parser.add_argument("--mlp", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    print("| cohort | fold | method | tried | validation F1@5, % |\n|---|---|---|---|---|")
    for path in given.cohorts:
        for fold in range(given.folds):
            task = Pairs.of(path, fold).task
            for name, method in methods(given.mlp):
                method.fit(task.cohort, task.training, task.validation, seed=task.seed)
                for trial in method.settings()["tried"]:
                    said = ", ".join(f"{key} {trial[key]}" for key in trial if key not in NOT_SETTINGS)
                    print(
                        f"| {path.stem} | {fold} | {name} | {said} | {trial['validation_f1']:.2f} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
