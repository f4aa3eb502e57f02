"""Loading a cohort file of a million stays: seconds, and peak memory beside the size of the arrays.

Run: python benchmarks/load.py [stays]        (default 1,000,000)
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

MEASURE = """
import resource, sys, time
from dx2px import Cohort
import dx2px.cohort
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
held = lambda: int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 2**20
before, start = held(), time.perf_counter()
cohort = Cohort.load(sys.argv[1])
seconds = time.perf_counter() - start
lists = (cohort.diagnoses, cohort.procedures)
arrays = sum(part.offsets.nbytes + part.values.nbytes for part in lists) + cohort.stay_ids.nbytes
arrays += cohort.patient_ids.nbytes + cohort.context.nbytes
print(f"| {len(cohort):,} | {seconds:.1f} | {arrays / 2**20:.0f} | {held() - before:.0f} | {peak() - before:.0f} |")
"""


def main() -> None:
    stays = sys.argv[1] if len(sys.argv) > 1 else "1000000"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "C.parquet"
        command = [sys.executable, "-m", "dx2px", "synthesize", "--stays", stays, "--out", str(path)]
        subprocess.run(command, check=True, capture_output=True)
        print("| stays | seconds | arrays, MB | memory added, MB | at its peak, MB |")
        print("|---|---|---|---|---|", flush=True)
        subprocess.run([sys.executable, "-c", MEASURE, str(path)], check=True)


if __name__ == "__main__":
    main()
