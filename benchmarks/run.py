"""Run all benchmarks that need no data, one after another, and print their tables.

Run: python benchmarks/run.py [name …]        e.g. `python benchmarks/run.py step transport`
Each runs in its own process, so that one does not disturb the next.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
BENCHMARKS = (
    "codes_search",
    "prepare",
    "load",
    "synthesize",
    "transport",
    "baseline_solvers",
    "step",
    "coupling",
    "scaling",
    "scoring",
    "population",
    "streaming",
    "vocabulary",
    "baselines",
)


def main() -> None:
    names = sys.argv[1:] or list(BENCHMARKS)
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        sys.exit(f"There is no benchmark {', '.join(unknown)}; choose from {', '.join(BENCHMARKS)}.")
    print(f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}\n")
    failed = []
    for name in names:
        print(f"## {name}\n", flush=True)
        if subprocess.run([sys.executable, str(HERE / f"{name}.py")], check=False).returncode:
            failed.append(name)
        print(flush=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
