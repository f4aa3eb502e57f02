"""One epoch over stays in memory and over streamed stays: stays per second and memory.

Run: python benchmarks/streaming.py [stays …] [--only stream] [--method e+sa+ma]
By default 300,000 stays; the target is stated for 10,000,000. The cohort is the synthetic small one, written to a
temporary folder. Each mode runs in a fresh process, one after the other; the rate counts the whole epoch, with reading,
without validation. Preparation is what comes before the first step: reading the cohort, or the passes for vocabularies,
parts, counts and fingerprint. Prints Markdown.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import growth

MEASURE = """
import resource, sys, time
path, mode, method = sys.argv[1:]
start = time.perf_counter()
from dx2px.cohort import Cohort, CohortStream, split_cohort, split_stream
from dx2px.methods import recommender
from dx2px.training.loop import Trainer
from dx2px.training.stays import HeldStays
from dx2px.training.streaming import StreamedStays
config = recommender(method, epochs=1).config
if mode == "memory":
    cohort = Cohort.load(path)
    stays = HeldStays(cohort, split_cohort(cohort).training(0))
else:
    stream = CohortStream(path)
    stays = StreamedStays(stream, split_stream(stream), 0)
trainer = Trainer(stays, None, config)
batches = trainer.batches.epoch(0)
trainer._step(next(batches))  # compiles, loads libraries
batches.close()
ready = time.perf_counter()
trainer.run()
seconds = time.perf_counter() - ready
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(len(stays) / seconds, peak, ready - start)
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stays", type=int, nargs="*", default=[300_000])
    parser.add_argument("--method", default="e+sa+ma")
    parser.add_argument("--only", choices=("memory", "stream"))
    arguments = parser.parse_args()
    print("| stays | mode | stays/s | relative to memory | peak memory, GB | preparation, s |")
    print("|---|---|---|---|---|---|", flush=True)
    seconds: dict[str, dict[int, float]] = {}
    for stays in arguments.stays:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "C.parquet"
            command = [sys.executable, "-m", "dx2px", "synthesize", "--stays", str(stays), "--out", str(path)]
            subprocess.run(command, check=True, capture_output=True)
            for mode, rate in compare(stays, path, arguments).items():
                seconds.setdefault(mode, {})[stays] = stays / rate
    if len(arguments.stays) > 1:
        print("\n" + "\n".join(growth.sentence(f"{mode}, an epoch", of) for mode, of in seconds.items()))


def compare(stays: int, path: Path, arguments: argparse.Namespace) -> dict[str, float]:
    """Stays per second of each mode; prints one row each."""
    rates: dict[str, float] = {}
    for mode in (arguments.only,) if arguments.only else ("memory", "stream"):
        command = [sys.executable, "-c", MEASURE, str(path), mode, arguments.method]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        rate, peak, preparation = map(float, done.stdout.split())
        rates[mode] = rate
        against = f"{rate / rates['memory']:.2f}" if "memory" in rates else "–"
        print(
            f"| {stays:,} | {mode} | {rate:,.0f} | {against} | {peak:.2f} | {preparation:.0f} |", flush=True
        )
    return rates


if __name__ == "__main__":
    main()
