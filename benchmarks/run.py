"""Run the benchmarks behind the first table of README.md, one after another, and print their tables.

Run: python benchmarks/run.py [name …]        e.g. `python benchmarks/run.py scaling streaming`; `all` runs all
None needs data. Each runs in its own process, so that one does not disturb the next.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
FIRST = {
    "coupling": [],
    "many_procedures": [],
    "request": [],
    "service": ["--model", "nhds2010", "--seconds", "5", "--requests", "0"],
    "step": [],
    "transport": [],
    "scoring": [],
}
FURTHER = (
    "codes_search",
    "prepare",
    "load",
    "synthesize",
    "baseline_solvers",
    "scaling",
    "population",
    "streaming",
    "vocabulary",
    "baselines",
)
BENCHMARKS: dict[str, list[str]] = FIRST | {name: [] for name in FURTHER}


def main() -> None:
    names = list(BENCHMARKS) if sys.argv[1:] == ["all"] else sys.argv[1:] or list(FIRST)
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        sys.exit(f"There is no benchmark {', '.join(unknown)}; choose from {', '.join(BENCHMARKS)}.")
    print(f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}\n")
    failed = []
    for name in names:
        print(f"## {name}\n", flush=True)
        started = time.monotonic()
        if subprocess.run(
            [sys.executable, str(HERE / f"{name}.py"), *BENCHMARKS[name]], check=False
        ).returncode:
            failed.append(name)
        print(f"\n({time.monotonic() - started:.0f} s)\n", flush=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
