"""How do the paper's four variants do, and mean pooling? Test recall, precision and F1, mean ± spread over seeds.

Run: python studies/variants.py COHORT… [--seeds 3] [--threads 1] [--out results/variants.json]
80/20 by stay (split seed 0), fold 0 of ten validates, weights of the last epoch, defaults otherwise. Runs are kept
in a JSON file, so an interrupted table goes on where it stopped. Prints Markdown.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from dx2px import Cohort, PaperConfig, PaperTraining, RunConfig, SplitConfig, __version__, train
from dx2px.methods.paper import PaperModel
from kept import Runs, over_seeds, spread_cells

VARIANTS = {
    "e+pooling": PaperConfig(variant="e+pooling"),
    "mean pooling": PaperConfig(variant="e+pooling", pooling="mean"),
    "e+sa": PaperConfig(variant="e+sa"),
    "e+ma": PaperConfig(variant="e+ma"),
    "e+sa+ma": PaperConfig(variant="e+sa+ma"),
}


def run(cohort: Cohort, model: PaperConfig, seed: int, threads: int) -> dict[str, Any]:
    """The settings and numbers of one run."""
    config = RunConfig(PaperTraining(model=model, seed=seed), SplitConfig(by="stay"))
    start = time.perf_counter()
    trained = train(cohort, config, threads=threads)
    made = trained.recommender
    assert isinstance(made, PaperModel)
    history = made.history
    return {
        "version": __version__,
        "settings": config.training.to_dict(),
        "seconds": round(time.perf_counter() - start, 1),
        "threads": threads,
        "best_epoch": made.outcome.best_epoch if made.outcome else None,
        "validation_f1": [round(epoch.validation_f1, 3) for epoch in history],
        "unconverged": max(epoch.measures.get("unconverged", 0.0) for epoch in history),
        "test": trained.evaluate("test").to_dict(),
    }


def table(results: Runs) -> str:
    """One row per cohort and variant, in the layout of the paper's Table 1."""
    head = [f"{name}@{L}, %" for L in (1, 3, 5, 10) for name in ("R", "P", "F1")]
    lines = [f"| cohort | variant | {' | '.join(head)} | seconds |", "|---" * (len(head) + 3) + "|"]
    for (cohort, variant), runs in results.items():
        tops = [
            [one["test"]["top"][L][n] for L in ("1", "3", "5", "10") for n in ("recall", "precision", "f1")]
            for one in runs
        ]
        seconds = np.mean([one["seconds"] for one in runs])
        lines.append(f"| {cohort} | {variant} | {' | '.join(spread_cells(tops))} | {seconds:.0f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cohorts", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/variants.json"))
    arguments = parser.parse_args()

    def one(path: Path, name: str, seed: int) -> dict[str, Any]:
        return run(Cohort.load(path), VARIANTS[name], seed, arguments.threads)

    print(table(over_seeds(arguments.cohorts, VARIANTS, arguments.seeds, arguments.out, one)))


if __name__ == "__main__":
    main()
