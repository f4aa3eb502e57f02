"""How do gradient-boosted trees do? One classifier per procedure, on the diagnoses as zeros and ones.

Run: python studies/boosted_trees.py COHORT [--folds 1] [--out results/boosted_trees.json]
scikit-learn's histogram trees, 31 leaves, learning rate 0.1; the number of rounds of each procedure is chosen by its
log loss on the validation stays (at most 100, checked every 10). Same split, folds and metric as `dx2px benchmark`.
Folds are kept in a JSON file. Prints Markdown; docs/results-tables.md has the numbers.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss

from dx2px import Cohort
from dx2px.scoring.metrics import AT, evaluate
from dx2px.training.run import SplitConfig
from kept import kept

ROUNDS, EVERY = 100, 10


def probabilities(train: Cohort, validation: Cohort, test: Cohort, seed: int) -> NDArray[np.float64]:
    """The probability of each procedure for each test stay."""
    sizes = len(train.diagnosis_vocabulary), len(train.procedure_vocabulary)
    X, X_held, X_test = (
        part.diagnoses.indicator(sizes[0]).astype(np.uint8) for part in (train, validation, test)
    )
    Y, Y_held = (part.procedures.indicator(sizes[1]).astype(np.uint8) for part in (train, validation))
    found = np.empty((len(test), sizes[1]))
    for p in range(sizes[1]):
        trees = HistGradientBoostingClassifier(max_iter=ROUNDS, early_stopping=False, random_state=seed)
        trees.fit(X, Y[:, p])
        held = [log_loss(Y_held[:, p], q, labels=[0, 1]) for q in trees.staged_predict_proba(X_held)][
            EVERY - 1 :: EVERY
        ]
        chosen = EVERY * (1 + int(np.argmin(held)))
        for rounds, q in enumerate(trees.staged_predict_proba(X_test), start=1):
            if rounds == chosen:
                found[:, p] = q[:, 1]
                break
    return found


def run(cohort: Cohort, fold: int) -> dict[str, Any]:
    """The numbers of one fold."""
    split, start = SplitConfig(by="stay").split(cohort), time.perf_counter()
    train, validation, test = (
        cohort.subset(rows) for rows in (split.training(fold), split.validation(fold), split.test)
    )
    found = probabilities(train, validation, test, fold)
    seconds = time.perf_counter() - start
    at = iter(range(0, len(test), 4096))
    metrics = evaluate(lambda rows: found[(s := next(at)) : s + len(rows)], test.diagnoses, test.procedures)
    return {"fold": fold, "seconds": round(seconds, 1), "test": metrics.to_dict()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cohort", type=Path)
    parser.add_argument("--folds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/boosted_trees.json"))
    arguments = parser.parse_args()
    cohort, runs = Cohort.load(arguments.cohort), []
    for fold in range(arguments.folds):
        name = f"{arguments.cohort.stem}/fold {fold}"
        runs.append(kept(arguments.out, name, partial(run, cohort, fold)))
    names = [f"{name}@{L}" for L in AT for name in ("recall", "precision", "f1")]
    means = [
        np.mean([one["test"]["top"][L][name] for one in runs]) for name, L in (n.split("@") for n in names)
    ]
    print(f"| cohort | folds | {' | '.join(names)} | seconds |", "|---" * (len(names) + 3) + "|", sep="\n")
    seconds = np.mean([one["seconds"] for one in runs])
    print(
        f"| {arguments.cohort.stem} | {len(runs)} | {' | '.join(f'{m:.1f}' for m in means)} | {seconds:.0f} |"
    )


if __name__ == "__main__":
    main()
