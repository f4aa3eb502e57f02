"""How far can probabilities be trusted on test stays, for each method, and which cut gives the smallest sets?

Run: python studies/calibration.py COHORT… [--methods linear,mlp] [--threads 1]
80/20 by stay or patient (split seed 0), fold 0 of ten validates and calibrates. Prints Markdown: expected calibration
error and slope, over all pairs of stay and procedure and over each stay's first ten; the share of a stay's
procedures in sets meant to hold 80, 90 and 95 %; the mean size of 90 % sets cut at a probability, at a cumulative
mass of probability, and at a rank. docs/probabilities.md has the numbers.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from dx2px import Cohort, Trained
from dx2px.lab.benchmark.settings import method_with
from dx2px.scoring.calibration import Doubles, most_probable
from dx2px.scoring.cohort_evidence import stay_rows
from dx2px.scoring.points import scored_pairs
from dx2px.training.fit_calibration import conformal_thresholds
from dx2px.training.run import learn

METHODS = "popularity,cooccurrence,linear,mlp,e+pooling,e+sa+ma"
HEAD = (
    "cohort | method | ECE | ECE top 10 | slope | slope top 10 | in 80 % sets, % | in 90 % sets, % | in 95 % sets, % "
    "| procedures per 90 % set | cut by mass | cut by rank"
)


def by_probability(p: Doubles) -> Doubles:
    """The cut that the package uses."""
    return p


def by_mass(p: Doubles) -> Doubles:
    """The share of the stay's probability that is not yet in the set when a procedure's turn comes."""
    order = np.argsort(-p, axis=1, kind="stable")
    sorted_ = np.take_along_axis(p, order, axis=1)
    left = 1 - (np.cumsum(sorted_, axis=1) - sorted_) / sorted_.sum(axis=1, keepdims=True)
    return _back(left, order)


def by_rank(p: Doubles) -> Doubles:
    """The same number of procedures for every stay."""
    order = np.argsort(-p, axis=1, kind="stable")
    return _back(np.tile(1 / (1.0 + np.arange(p.shape[1])), (len(p), 1)), order)


def _back(values: Doubles, order: np.ndarray) -> Doubles:
    out = np.empty_like(values)
    np.put_along_axis(out, order, values, axis=1)
    return out


def sizes(trained: Trained) -> list[float]:
    """Mean size on test stays of 90 % sets, by each cut."""
    (p, coded), (tested, _) = (probabilities(trained, part) for part in ("validation", "test"))
    found = []
    for cut in (by_probability, by_mass, by_rank):
        threshold = conformal_thresholds(cut(p), coded, np.array([0.9]))[0]
        key = cut(tested)
        found.append(float(((key >= threshold) | most_probable(key)).sum(axis=1).mean()))
    return found


def probabilities(trained: Trained, part: str) -> tuple[Doubles, np.ndarray]:
    """Probabilities of a part's pairs, and what was coded."""
    stays = trained.stays(part)
    s, coded = scored_pairs(trained.scorer.scores, stay_rows(trained.scorer, stays), stays.procedures)
    return trained.calibration.probability(s), coded


def row(path: Path, method: str, threads: int) -> list[str]:
    """One line of the table."""
    trained = learn(Cohort.load(path), method_with(method, {}), threads=threads)
    trust = trained.reliability("test")
    slopes = ["–" if one.slope is None else f"{one.slope:.3f}" for one in (trust.all, trust.top)]
    held = [f"{100 * one.recall:.1f}" for one in trust.coverage]
    errors = [f"{trust.all.ece:.4f}", f"{trust.top.ece:.4f}"]
    return [path.stem, method, *errors, *slopes, *held, *(f"{size:.1f}" for size in sizes(trained))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cohorts", nargs="+", type=Path)
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    print(f"| {HEAD} |")
    print("|---" * (HEAD.count("|") + 1) + "|")
    for path in options.cohorts:
        for method in options.methods.split(","):
            print(f"| {' | '.join(row(path, method, options.threads))} |", flush=True)


if __name__ == "__main__":
    main()
