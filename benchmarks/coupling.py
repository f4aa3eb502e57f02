"""Speed of the default method, compared with its bare matrix products and with the paper's model.

Run: python benchmarks/coupling.py [--rounds 9] [--stays 300000]
Training: one step (what is withheld, forward, backward, Adam; 300 stays, evidence `stay`, one thread) and the products
of its forward and backward pass, in turns. Scoring: `dx2px score` with two threads, Parquet to Parquet, start included,
and the products of the forward pass shared out over the two cores. All in processor seconds, which other programs on
the machine disturb less than elapsed ones, and the least of the rounds. Random stays and weights. Prints Markdown.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from threadpoolctl import threadpool_limits

from dx2px.methods.coupling import CouplingConfig
from dx2px.methods.coupling.network import CouplingNetwork
from dx2px.methods.coupling.sampling import Sampling
from dx2px.methods.coupling.step import CouplingStep, OneCycle
from dx2px.ragged import Ragged
from dx2px.scoring.evidence import EvidenceLayout
from dx2px.scoring.known import Known
from dx2px.training.adam import AdamConfig
from dx2px.training.batch import Batch
from random_models import DIM, write_random_model
from scoring import SIZES, random_stays

BATCH, PER_CATEGORY = 300, 3


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--stays", type=int, default=300_000)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with threadpool_limits(1, user_api="blas"):
        print(
            "| shape | training step, ms | products, ms | ratio | required (target) |\n|---|---|---|---|---|"
        )
        for name in SIZES:
            training(name, arguments.rounds)
        print(
            "\n| shape | `dx2px score`, µs per stay | products, µs | ratio | required | paper's model, µs | ratio |"
        )
        print("|---|---|---|---|---|---|---|")
        for name in SIZES:
            scoring(name, arguments.stays, arguments.rounds)


def training(name: str, rounds: int) -> None:
    step, rows = step_of(SIZES[name])
    runs = {"step": step, "products": products(rows, BATCH, SIZES[name][1], backward=True)}
    found = least(runs, rounds, 5)
    ratio = found["step"] / found["products"]
    print(
        f"| {name} | {1e3 * found['step']:.1f} | {1e3 * found['products']:.1f} | {ratio:.2f} | ≤ 2.5 (1.7) |",
        flush=True,
    )


def step_of(
    sizes: tuple[int, int], stays: int = BATCH, sample: int | None = None
) -> tuple[Callable[[], object], int]:
    """A training step of so many random stays, and the rows of evidence that they have."""
    rng = np.random.default_rng(0)
    layout = EvidenceLayout(*sizes, principal=True, admissions=("emergency", "urgent", "elective"))
    categories = tuple(np.arange(size) // PER_CATEGORY for size in sizes)
    network = CouplingNetwork(*sizes, CouplingConfig(dim=DIM, dropout=0.4), categories, layout)
    network.init(torch.Generator().manual_seed(0), np.ones(layout.size), np.full(sizes[1], 0.1))
    sampling = None if sample is None else Sampling(np.arange(1, sizes[1] + 1) ** -1.0, sample)
    learner = CouplingStep(network, AdamConfig(lr=0.004), OneCycle(10_000), seed=0, sampling=sampling)
    diagnoses = random_stays(stays, sizes[0], rng)
    procedures = Ragged.from_lists([rng.permutation(sizes[1])[:4] for _ in range(stays)])
    facts = np.stack([rng.integers(0, high, stays) for high in (sizes[0], 14, 2, 3)], axis=1)
    batch = Batch(diagnoses, procedures, known=Known(facts.astype(np.int32), Known.nothing(stays).coded))
    return lambda: learner.step(batch), len(learner._evidence(batch)[0].values)


def scoring(name: str, stays: int, rounds: int) -> None:
    diagnoses, procedures = SIZES[name]
    names = [
        [f"icd9{kind}:{i:04d}" for i in range(n)] for kind, n in (("cm", diagnoses), ("pcs", procedures))
    ]
    rows = random_stays(stays, diagnoses, np.random.default_rng(0))
    with tempfile.TemporaryDirectory(prefix="dx2px-coupling-") as folder:
        file = Path(folder) / "C.parquet"
        codes = pa.array(names[0]).take(pa.array(rows.values))
        lists = pa.ListArray.from_arrays(pa.array(rows.offsets, pa.int32()), codes)
        pq.write_table(pa.table({"stay_id": pa.array(np.arange(stays)), "diagnoses": lists}), file)
        models = {
            method: write_random_model(Path(folder) / method, method, *names)
            for method in ("coupling", "e+sa+ma")
        }
        runs = {
            method: lambda model=model: score(file, model, file.with_name("R.parquet"))  # type: ignore[misc]
            for method, model in models.items()
        }
        block = 256
        per_stay = len(rows.values) / stays
        bare = products(int(block * per_stay), block, procedures, backward=False)
        found = {method: min(run() for _ in range(2)) / stays for method, run in runs.items()}
        floor = least({"products": bare}, rounds, 20)["products"] / block
    limit = "≤ 4" if name == "small" else "≤ 3"
    ours, theirs = found["coupling"], found["e+sa+ma"]
    cells = f"{1e6 * ours:.1f} | {1e6 * floor:.1f} | {ours / floor:.2f} | {limit}"
    print(f"| {name} | {cells} | {1e6 * theirs:.1f} | {ours / theirs:.2f} |", flush=True)


def products(rows: int, stays: int, procedures: int, *, backward: bool) -> Callable[[], object]:
    """The matrix products of a pass over so many rows of evidence, in single precision."""
    rng = np.random.default_rng(0)
    shapes = (rows, DIM), (procedures, DIM), (stays, DIM), (DIM, DIM)
    h, V, c, G = (rng.standard_normal(shape, np.float32) for shape in shapes)
    X = h @ V.T
    forward = (c, G.T), (h, V.T)
    back = (X, V), (X.T, h), (c, G), (c.T, c)
    return lambda: [left @ right for left, right in (*forward, *(back if backward else ()))]


def least(runs: dict[str, Callable[[], object]], rounds: int, repeats: int) -> dict[str, float]:
    """Processor seconds of each, the least over rounds in which they take turns."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.process_time()
            for _ in range(repeats):
                run()
            times[name].append((time.process_time() - start) / repeats)
    return {name: min(of[1:] or of) for name, of in times.items()}


def score(stays: Path, model: Path, out: Path) -> float:
    """Processor seconds of the command."""
    words = ["score", "--model", str(model), str(stays), "--out", str(out), "--top", "10"]
    started = subprocess.Popen([sys.executable, "-m", "dx2px", *words], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        sys.exit("dx2px score failed")
    out.unlink()
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
