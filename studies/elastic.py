"""When a process of a run is killed at random, does the run still end, in time, with the same weights?

Run: python studies/elastic.py [--runs 10] [--seed 0] [--method e+sa+ma] [--limit 60]
Two processes under torchrun on this machine learn from 6,000 synthetic stays. One run is left alone; in each of the
others a random process is killed (SIGKILL) at a random moment of learning: up to half a second, the time between
checkpoints, after a random one. A run that takes longer than four times the limit counts as hung and is ended. Prints
Markdown; benchmarks/README.md has the numbers.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dx2px.training.checkpoint import Checkpoint

EPOCHS = 12
STEPS = 15  # an epoch


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--method", default="e+sa+ma")
    parser.add_argument("--limit", type=float, default=60.0)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as name:
        study = Study(Path(name), arguments.method, arguments.limit)
        good = [study.disturbed(number, chance) for number in range(1, arguments.runs + 1)]
    print(f"\n{sum(good)} of {len(good)} ended with the same weights within {arguments.limit:.0f} s.")
    sys.exit(sum(good) < len(good))


class Study:
    """Runs on one cohort; the first one is left alone."""

    def __init__(self, folder: Path, method: str, limit: float) -> None:
        self.folder, self.method, self.limit = folder, method, limit
        cohort = folder / "C.parquet"
        command = [sys.executable, "-m", "dx2px", "synthesize", "--stays", "6000", "--out", str(cohort)]
        subprocess.run(command, check=True, capture_output=True)
        start = time.monotonic()
        self._wait(self._start("undisturbed"))
        self.weights = self._digest("undisturbed")
        print(f"Undisturbed: {time.monotonic() - start:.1f} s.\n")
        print("| run | killed rank | last checkpoint, epoch + step | whole run, s | same weights |")
        print("|---|---|---|---|---|", flush=True)

    def disturbed(self, number: int, chance: random.Random) -> bool:
        """One run in which a process is killed."""
        name, rank = f"run{number}", chance.randrange(2)
        start = time.monotonic()
        process = self._start(name)
        at = self._wait_for(process, name, chance.uniform(0, 0.9 * EPOCHS))
        time.sleep(chance.uniform(0, 0.5))
        victims = [pid for pid, its_rank in workers(process).items() if its_rank == rank]
        for victim in victims:
            os.kill(victim, signal.SIGKILL)
        self._wait(process)
        seconds = time.monotonic() - start
        same = bool(victims) and process.returncode == 0 and self._digest(name) == self.weights
        cells = (number, rank, at, f"{seconds:.1f}", "yes" if same else "NO")
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
        return same and seconds <= self.limit

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        command = ["-m", "dx2px", "train", str(self.folder / "C.parquet"), "--out", str(self.folder / name)]
        settings = ["--method", self.method, "--dim", "64", "--epochs", str(EPOCHS), "--save-every", "0.5"]
        return subprocess.Popen(
            [*launcher, "--max-restarts", "3", *command, *settings],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )

    def _wait_for(self, process: subprocess.Popen[bytes], name: str, epochs: float) -> str:
        """Wait for a checkpoint after so many epochs."""
        file = self.folder / f"{name}.checkpoint"
        while process.poll() is None:
            if file.exists():
                at = Checkpoint.load(file).position
                if at.epoch + at.step / STEPS >= epochs:
                    return f"{at.epoch} + {at.step}"
            time.sleep(0.05)
        return "none"

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        try:
            process.wait(4 * self.limit)
        except subprocess.TimeoutExpired:
            for pid in workers(process):
                os.kill(pid, signal.SIGKILL)
            process.kill()
            process.wait()

    def _digest(self, name: str) -> str:
        return hashlib.sha256((self.folder / name / "weights.safetensors").read_bytes()).hexdigest()


def workers(process: subprocess.Popen[bytes]) -> dict[int, int]:
    """Process ids and ranks of the processes that torchrun started."""
    found = {}
    for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
        try:
            environment = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        except OSError:  # it has ended
            continue
        found |= {int(child): int(entry[5:]) for entry in environment if entry.startswith(b"RANK=")}
    return found


if __name__ == "__main__":
    main()
