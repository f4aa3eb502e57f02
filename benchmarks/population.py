"""Scoring a population: stays per second and memory of `dx2px score`, and of Spark on two cores, Parquet to Parquet.

Run: python benchmarks/population.py [stays …] [--model FOLDER] [--no-spark]
Default: 1,000,000 stays; random models of the paper's small size (247 diagnoses, 75 procedures, 200 dimensions), of the
paper's method and of the default one. Stays come from `dx2px synthesize`, repeated under new ids. The start of Spark is
not counted. Prints Markdown.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import growth
from random_models import write_random_model

TILE = 50_000
TOP = 10


def write_stays(path: Path, stays: int) -> tuple[list[str], list[str]]:
    """Write a file of so many stays and return its diagnoses and procedures."""
    tile_path = path.with_name("tile.parquet")
    words = ["synthesize", "--preset", "small", "--stays", str(TILE), "--out", str(tile_path)]
    subprocess.run([sys.executable, "-m", "dx2px", *words], check=True, capture_output=True)
    tile = pq.read_table(tile_path)
    with pq.ParquetWriter(path, tile.schema, compression="zstd") as sink:
        for start in range(0, stays, TILE):
            part = tile.slice(0, min(TILE, stays - start))
            ids = pa.array(np.arange(start, start + len(part))).cast(pa.string())
            sink.write_table(part.set_column(0, tile.schema.field(0), ids), row_group_size=8192)
    kinds = (tile[name].combine_chunks().flatten().unique() for name in ("diagnoses", "procedures"))
    diagnoses, procedures = (sorted(codes.to_pylist()) for codes in kinds)
    return diagnoses, procedures


def score(stays: Path, model: Path, out: Path) -> tuple[float, float]:
    """Seconds and peak memory, in MB, of the command, including its start."""
    words = ["score", "--model", str(model), str(stays), "--out", str(out), "--top", str(TOP)]
    start = time.perf_counter()
    started = subprocess.Popen([sys.executable, "-m", "dx2px", *words], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        sys.exit("dx2px score failed")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def on_spark(stays: Path, model: Path, out: Path) -> float:
    """Seconds of the same on Spark, once its two Python workers are running."""
    from pyspark.sql import SparkSession

    from dx2px.spark import recommend

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "2g")
    loopback = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    for name, value in (loopback | quiet).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    frame = session.read.parquet(str(stays))
    recommend(model, frame.limit(1000).repartition(2), TOP).write.parquet(str(out / "first"))
    start = time.perf_counter()
    recommend(model, frame, TOP).write.parquet(str(out / "all"))
    seconds = time.perf_counter() - start
    session.stop()
    return seconds


def random_models(folder: Path, diagnoses: list[str], procedures: list[str]) -> dict[str, Path]:
    """A folder for each row of the table."""
    return {
        method: write_random_model(folder / method, method, diagnoses, procedures)
        for method in ("e+sa+ma", "coupling")
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stays", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--model", type=Path)
    parser.add_argument("--no-spark", action="store_true")
    arguments = parser.parse_args()
    spark = bool(not arguments.no_spark and find_spec("pyspark") and shutil.which("java"))
    print(
        "| stays | model | `dx2px score`, stays/s | peak memory | Spark `local[2]`, stays/s | Spark / `dx2px score` |"
    )
    print("|---|---|---|---|---|---|", flush=True)
    times: dict[str, dict[int, float]] = {}
    for stays in arguments.stays:
        with tempfile.TemporaryDirectory(prefix="dx2px-population-") as name:
            folder = Path(name)
            codes = write_stays(folder / "C.parquet", stays)
            models = {"given": arguments.model} if arguments.model else random_models(folder, *codes)
            for label, model in models.items():
                seconds, memory = score(folder / "C.parquet", model, folder / "R.parquet")
                times.setdefault(label, {})[stays] = seconds
                cells = [f"{stays / seconds:,.0f}", f"{memory:,.0f} MB", "–", "–"]
                if spark:
                    elsewhere = on_spark(folder / "C.parquet", model, folder / f"spark-{label}")
                    cells[2:] = [f"{stays / elsewhere:,.0f}", f"{seconds / elsewhere:.2f}"]
                print(f"| {stays:,} | {label} | {' | '.join(cells)} |", flush=True)
    if len(arguments.stays) > 1:
        print("\n" + "\n".join(growth.sentence(f"{label}, scoring", of) for label, of in times.items()))


if __name__ == "__main__":
    main()
