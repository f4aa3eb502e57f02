"""Stays scored per second, with the ten best procedures of each; random models of the paper's three sizes.

Run: python benchmarks/scoring.py [stays]      (default 200,000; about 10 diagnoses each, 200 dimensions, 8 heads)
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np

from dx2px.ragged import Ragged
from dx2px.scoring.attention import AttentionScorer
from dx2px.scoring.scorer import rank
from random_models import random_arrays

TOP = 10
SIZES = {"small": (247, 75), "medium": (874, 258), "large": (2765, 819)}
METHODS = ("e+sa+ma", "e+pooling")
REPEATS = 5


def random_stays(stays: int, diagnoses: int, rng: np.random.Generator) -> Ragged:
    """Stays of 5 to 15 distinct diagnoses: a random start and a random stride around the vocabulary."""
    lengths = rng.integers(5, 16, stays)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    start, stride = rng.integers(0, diagnoses, stays), rng.integers(1, diagnoses // 16, stays)
    values = (np.repeat(start, lengths) + within * np.repeat(stride, lengths)) % diagnoses
    return Ragged(offsets, values.astype(np.int32))


def stays_per_second(scorer: AttentionScorer, stays: Ragged, threads: int) -> float:
    """The best of several runs: other programs on the machine can only slow a run down."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        rank(scorer, stays, TOP, threads)
        seconds.append(time.perf_counter() - start)
    return len(stays) / min(seconds)


def main() -> None:
    stays, rng = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000, np.random.default_rng(0)
    threads = sorted({1, os.cpu_count() or 1})
    print("| model | method | " + " | ".join(f"stays/s, {n} thread{'s' * (n > 1)}" for n in threads) + " |")
    print("|---|---|" + "---|" * len(threads))
    for name, (diagnoses, procedures) in SIZES.items():
        rows = random_stays(stays if name == "small" else stays // 10, diagnoses, rng)
        for method in METHODS:
            scorer = AttentionScorer(random_arrays(method, diagnoses, procedures))
            cells = [f"{stays_per_second(scorer, rows, n):,.0f}" for n in threads]
            print(f"| {name} ({diagnoses} · {procedures}) | {method} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
