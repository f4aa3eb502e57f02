"""How much do the numbers depend on which stays are tested? Test F1 under several splits of the same stays.

Run: python studies/split_seeds.py nhds_medium.parquet [--seeds 5] [--out results/split_seeds.json]
The published folds share one test part. Here every seed divides the stays anew, 80/20 by stay, and each method learns
once, with fold 0 of ten for validation. The paper's variants have the settings that tuning chose at this size. Prints
Markdown: mean ± standard deviation over the splits of each method's F1, and of its distance from the default method on
the same split. Runs are kept in a JSON file.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dx2px import Cohort, SplitConfig, __version__
from dx2px.lab.benchmark.settings import method_with
from dx2px.training.run import learn
from kept import Runs, over_seeds, spread_cells

TUNED = {"epochs": 40, "patience": 5, "start": 0.1}
METHODS: Mapping[str, Mapping[str, Any]] = {
    "linear": {},
    "e+pooling": TUNED | {"lr": 0.001},
    "e+sa+ma": TUNED | {"lr": 0.003},
    "coupling": {},
}
AT = (1, 3, 5, 10)


def run(cohort: Cohort, name: str, seed: int) -> dict[str, Any]:
    """Test F1 of one method on one split."""
    trained = learn(cohort, method_with(name, METHODS[name]), SplitConfig(by="stay", seed=seed), threads=1)
    f1 = trained.evaluate("test").mean("f1")
    return {"version": __version__, "settings": dict(METHODS[name]), "f1": {str(L): f1[L] for L in AT}}


def table(results: Runs) -> str:
    """One row per method: its F1, then how far the default method is ahead on the same splits."""
    head = [*(f"F1@{L}, %" for L in AT), *(f"coupling ahead at {L}" for L in AT)]
    lines = [f"| cohort | method | {' | '.join(head)} |", "|---" * (len(head) + 2) + "|"]
    values = {key: np.array([list(one["f1"].values()) for one in runs]) for key, runs in results.items()}
    for (cohort, method), found in values.items():
        ahead = ["–"] * len(AT) if method == "coupling" else spread_cells(values[cohort, "coupling"] - found)
        lines.append(f"| {cohort} | {method} | {' | '.join([*spread_cells(found), *ahead])} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cohorts", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("results/split_seeds.json"))
    arguments = parser.parse_args()

    def one(path: Path, name: str, seed: int) -> dict[str, Any]:
        return run(Cohort.load(path), name, seed)

    print(table(over_seeds(arguments.cohorts, METHODS, arguments.seeds, arguments.out, one)))


if __name__ == "__main__":
    main()
