"""Gradient-boosted trees beside the default model: one classifier a procedure on the diagnoses as zeros and ones.

Run: python benchmarks/boosted_trees.py COHORT [--folds 1] [--out results/boosted_trees]
scikit-learn's histogram trees, 31 leaves, learning rate 0.1; the number of rounds of each procedure is chosen by its
log loss on the validation stays (at most 100, checked every 10). Same split, folds and metric as `dx2px benchmark`.
Each fold is kept as a small JSON file. Prints Markdown.
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
from dx2px.evaluation.metrics import AT, evaluate
from dx2px.evaluation.run import SplitConfig
from dx2px.ragged import Ragged
from kept import kept

ROUNDS, EVERY = 100, 10


def table_of(rows: Ragged, codes: int) -> NDArray[np.uint8]:
    """A row a stay, a column a code."""
    table = np.zeros((len(rows), codes), np.uint8)
    table[rows.row_of_entry, rows.values] = 1
    return table


def probabilities(train: Cohort, validation: Cohort, test: Cohort, seed: int) -> NDArray[np.float64]:
    """Of each test stay and procedure."""
    sizes = len(train.diagnosis_vocabulary), len(train.procedure_vocabulary)
    X, X_held, X_test = (table_of(part.diagnoses, sizes[0]) for part in (train, validation, test))
    Y, Y_held = (table_of(part.procedures, sizes[1]) for part in (train, validation))
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
    """One fold's numbers."""
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
    parser.add_argument("--out", type=Path, default=Path("results/boosted_trees"))
    arguments = parser.parse_args()
    cohort, runs = Cohort.load(arguments.cohort), []
    for fold in range(arguments.folds):
        file = arguments.out / arguments.cohort.stem / f"fold{fold}.json"
        runs.append(kept(file, partial(run, cohort, fold)))
    names = [f"{name}@{L}" for L in AT for name in ("recall", "precision", "f1")]
    means = [
        np.mean([one["test"]["top"][L][name] for one in runs]) for name, L in (n.split("@") for n in names)
    ]
    print(f"| cohort | folds | {' | '.join(names)} | s |", "|---" * (len(names) + 3) + "|", sep="\n")
    seconds = np.mean([one["seconds"] for one in runs])
    print(
        f"| {arguments.cohort.stem} | {len(runs)} | {' | '.join(f'{m:.1f}' for m in means)} | {seconds:.0f} |"
    )


if __name__ == "__main__":
    main()
