"""Speed, memory and difficulty of synthetic cohorts.

Run: python benchmarks/synthesize.py [--stays 1000000]
First table: time and peak memory of `synthesize`, writing included, each run in a process of its own.
Second table: how often the cause of a procedure is named, by the generator's posterior (the best possible), by
co-occurrence lift, and at random.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from dx2px.cohort import Cohort
from dx2px.lab.synthetic import PRESETS, SyntheticConfig, Truth, generate, synthesize


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stays", type=int, default=1_000_000, help="size of the long run")
    parser.add_argument("--one", nargs=2, metavar=("PRESET", "STAYS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one[0], int(options.one[1]))))
        return
    versions = f"Python {platform.python_version()}, numpy {np.__version__}"
    print(f"{platform.machine()}, {os.cpu_count()} cores, {versions}")
    speed([(name, config.stays) for name, config in PRESETS.items()] + [("small", options.stays)])
    difficulty()


def speed(runs: list[tuple[str, int]]) -> None:
    """Print the first table."""
    print(f"\n{'preset':8}{'stays':>10}{'seconds':>9}{'stays/s':>10}{'peak MB':>9}{'files MB':>10}", end="")
    print(f"{'dx/stay':>9}{'px/stay':>9}{'rarest dx':>11}{'rarest px':>11}")
    for preset, stays in runs:
        command = [sys.executable, __file__, "--one", preset, str(stays)]
        done = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        print(f"{preset:8}{stays:>10,}{done['seconds']:>9.2f}{stays / done['seconds']:>10,.0f}", end="")
        print(f"{done['peak']:>9.0f}{done['files']:>10.1f}", end="")
        print(f"{done['diagnoses_per_stay']:>9.2f}{done['procedures_per_stay']:>9.2f}", end="")
        print(f"{done['rarest_diagnosis']:>11,}{done['rarest_procedure']:>11,}")


def measure(preset: str, stays: int) -> dict[str, float]:
    """One run of `synthesize` in this process."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        summary = synthesize(Path(folder) / "c.parquet", replace(PRESETS[preset], stays=stays))
        seconds = time.perf_counter() - start
        files = sum(file.stat().st_size for file in Path(folder).iterdir()) / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {**asdict(summary), "seconds": seconds, "peak": peak, "files": files}


def difficulty() -> None:
    """Print the second table."""
    print(f"\n{'preset':8}{'co-morbidity':>13}{'sharing':>9}{'posterior %':>13}{'lift %':>8}{'random %':>10}")
    settings: list[SyntheticConfig] = []
    for config in PRESETS.values():
        settings += [config, replace(config, comorbidity=0.9), replace(config, sharing=8.0)]
    for config in settings:
        cohort, truth = generate(config)
        scores = (truth.posterior, lift(cohort, truth), np.zeros(len(truth.posterior)))
        best, by_lift, chance = (100 * truth.top1_accuracy(score) for score in scores)
        print(
            f"{config.preset:8}{config.comorbidity:>13}{config.sharing:>9}{best:>13.1f}{by_lift:>8.1f}{chance:>10.1f}"
        )


def lift(cohort: Cohort, truth: Truth) -> np.ndarray:
    """How much more often than by chance each procedure comes with each diagnosis of its stay."""
    x = np.zeros((len(cohort), len(cohort.diagnosis_vocabulary)), np.float32)
    y = np.zeros((len(cohort), len(cohort.procedure_vocabulary)), np.float32)
    x[cohort.diagnoses.row_of_entry, cohort.diagnoses.values] = 1
    y[cohort.procedures.row_of_entry, cohort.procedures.values] = 1
    together = x.T @ y
    ratio = together * len(cohort) / np.outer(cohort.diagnosis_counts, cohort.procedure_counts)
    diagnoses = cohort.diagnoses.take(cohort.procedures.row_of_entry).values
    return ratio[diagnoses, np.repeat(cohort.procedures.values, np.diff(truth.offsets))]


if __name__ == "__main__":
    main()
