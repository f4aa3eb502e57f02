"""Preparing tables in MIMIC-III format: seconds and peak memory, at the size of the release and at twenty times it.

Run: python benchmarks/prepare.py [times …]      (default 1 20)
The tables are random: at size 1, 58,976 admissions, 650,000 diagnosis rows and 240,000 procedure rows.
"""

from __future__ import annotations

import gzip
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from dx2px.codes import System, dictionary

ADMISSIONS, DIAGNOSES, PROCEDURES = 58_976, 650_000, 240_000
CHUNK = 200_000


def write_table(path: Path, rows: int, admissions: int, system: System, rng: np.random.Generator) -> None:
    """One code table, gzip-compressed, rows grouped by admission as in the release."""
    codes = np.array([f'"{code}"' for code in dictionary(system)])
    weights = 1 / np.arange(1, len(codes) + 1)
    weights /= weights.sum()
    stays = np.sort(rng.integers(0, admissions, rows)) + 100_000
    with gzip.open(path, "wt", compresslevel=1) as stream:
        stream.write('"ROW_ID","SUBJECT_ID","HADM_ID","SEQ_NUM","ICD9_CODE"\n')
        for start in range(0, rows, CHUNK):
            part = stays[start : start + CHUNK]
            drawn = codes[rng.choice(len(codes), len(part), p=weights)]
            lines = zip(range(start + 1, start + CHUNK + 1), part // 2, part, drawn, strict=False)
            stream.writelines(
                f"{row},{patient},{stay},{row % 20 + 1},{code}\n" for row, patient, stay, code in lines
            )


def measure(folder: Path) -> tuple[float, float]:
    """Seconds and peak megabytes of one `dx2px prepare` in its own process."""
    start = time.perf_counter()
    command = [
        sys.executable,
        "-m",
        "dx2px",
        "prepare",
        "mimic3",
        str(folder),
        "--out",
        str(folder / "C.parquet"),
    ]
    subprocess.run(command, check=True, capture_output=True)
    seconds = time.perf_counter() - start
    return seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def main() -> None:
    print("| size, times MIMIC-III | rows | seconds | peak memory, MB |")
    print("|---|---|---|---|")
    for times in [int(text) for text in sys.argv[1:]] or [1, 20]:
        rng = np.random.default_rng(0)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_table(
                folder / "DIAGNOSES_ICD.csv.gz", times * DIAGNOSES, times * ADMISSIONS, System.ICD9CM, rng
            )
            write_table(
                folder / "PROCEDURES_ICD.csv.gz", times * PROCEDURES, times * ADMISSIONS, System.ICD9PCS, rng
            )
            seconds, megabytes = measure(folder)
        print(
            f"| {times} | {times * (DIAGNOSES + PROCEDURES):,} | {seconds:.1f} | {megabytes:,.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
