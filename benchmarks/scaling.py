"""One epoch of E+SA+MA over more and more stays: seconds per million stays, and memory beside the data arrays.

Run: python benchmarks/scaling.py [stays …]        (default 30000 300000 3000000)
The cohort is the synthetic small one; every stay is learned from.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

MEASURE = """
import resource, sys
import numpy as np
from dx2px import Cohort, PaperTraining
from dx2px.training.loop import Trainer
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
cohort = Cohort.load(sys.argv[1])
lists = (cohort.diagnoses, cohort.procedures)
arrays = sum(part.offsets.nbytes + part.values.nbytes for part in lists)
arrays += cohort.stay_ids.nbytes + cohort.patient_ids.nbytes + cohort.context.nbytes
Trainer(cohort, np.arange(3000), PaperTraining(epochs=1)).run()  # compiles, loads libraries
epoch = Trainer(cohort, np.arange(len(cohort)), PaperTraining(epochs=1)).run().history[0]
print(
    f"| {len(cohort):,} | {epoch.seconds:.1f} | {epoch.seconds / len(cohort) * 1e6:.1f} | "
    f"{epoch.stays_per_second:,.0f} | {arrays / 2**20:.0f} | {peak():.0f} |"
)
"""


def main() -> None:
    print("| stays | epoch, s | s per million stays | stays/s | data arrays, MB | peak memory, MB |")
    print("|---|---|---|---|---|---|", flush=True)
    for stays in sys.argv[1:] or ["30000", "300000", "3000000"]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "C.parquet"
            command = [sys.executable, "-m", "dx2px", "synthesize", "--stays", stays, "--out", str(path)]
            subprocess.run(command, check=True, capture_output=True)
            subprocess.run([sys.executable, "-c", MEASURE, str(path)], check=True)


if __name__ == "__main__":
    main()
