"""Time and memory of every method: CPU seconds per fold and peak memory, from the runs kept under results/.

Run: python benchmarks/baselines.py [results]
Prints Markdown, and which run needed the most memory; none may need 8 GB.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from dx2px.lab.benchmark import rows_of
from dx2px.lab.benchmark.costs import costs_markdown
from dx2px.lab.experiment import load_experiment

ROOT = Path(__file__).parents[1]
LIMIT = 8192


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("results", nargs="?", type=Path, default=ROOT / "results")
    out = parser.parse_args().results
    experiment = load_experiment(ROOT / "experiments" / "results.toml")
    for group in experiment.groups:
        rows = rows_of(experiment.jobs(group, Path(), out))
        if not rows:
            print(f"{group}: no run is kept yet.\n")
            continue
        print(costs_markdown(rows))
        most = max(rows, key=lambda row: row.peak_mb)
        verdict = "below" if most.peak_mb < LIMIT else "NOT below"
        print(f"Most memory: {most.method} on {most.cohort}, {most.peak_mb:,} MB, {verdict} {LIMIT:,}.\n")


if __name__ == "__main__":
    main()
