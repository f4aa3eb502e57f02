"""The inner solvers of DWL and GWL: ours compared with POT's network simplex, few entries compared with all.

Run: python benchmarks/baseline_solvers.py [--problems 30] [--steps 200] [--cohorts COHORT…]
DWL: a topic is the softmax of normal numbers over all words, as DWL starts; costs are scaled distances of normal
vectors; a stay has 4, 8 or 16 codes. Both solve exactly, in double precision; the table shows the largest difference
of the plans. Timed in turns, median of the ratios.
DWL's kernel is stored dense from some share of its entries on: its product with a batch (8 topics, 256 stays), over
the entries alone and over all, by their share.
GWL: the coupling of the first round on the synthetic medium cohort and on given ones, with the larger product over the
entries of the plan that carry weight and over all; the share of such entries in the last step, and the L1 distance of
the plans (their mass is 1). Prints Markdown.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from unittest.mock import patch

import numpy as np
import ot
import torch
from scipy import sparse

from dx2px import Cohort
from dx2px.lab.synthetic import PRESETS, synthesize
from dx2px.methods.counts import incidences
from dx2px.methods.dwl.dwl import distilled_cost
from dx2px.methods.dwl.few_targets import transport
from dx2px.methods.gwl import gromov
from dx2px.methods.gwl.gwl import Graphs

WORDS = {"small": 274, "medium": 1069, "large": 3853}  # diagnoses and procedures of the NHDS sets
CODES = (4, 8, 16)
SHARES, BATCH = (0.01, 0.05, 0.1, 0.2, 0.4), 8 * 256


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", type=int, default=30)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--cohorts", nargs="*", type=Path, default=[])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    print("| words | codes per stay | ours, ms | POT, ms | ratio | largest difference of the plans |")
    print("|---|---|---|---|---|---|")
    for name, words in WORDS.items():
        C = distilled_cost(rng.standard_normal((words, 200)), 0.5)
        for codes in CODES:
            print(row(name, C, codes, arguments.problems, rng), flush=True)
    print(
        "\n| words | share of the kernel's entries | entries, ms | all, ms | ratio |\n|---|---|---|---|---|"
    )
    for words in (WORDS["small"], WORDS["medium"]):
        for share in SHARES:
            print(product(words, share, arguments.problems, rng), flush=True)
    print(
        "\n| GWL on | steps | entries with weight only, CPU s | all, CPU s | ratio "
        "| entries left | difference of the plans |"
    )
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        synthetic = Path(folder) / "synthetic medium.parquet"
        synthesize(synthetic, PRESETS["medium"])
        for path in (synthetic, *arguments.cohorts):
            print(coupling(path.stem, Cohort.load(path), arguments.steps), flush=True)


def row(name: str, C: np.ndarray, codes: int, problems: int, rng: np.random.Generator) -> str:
    ours, theirs, apart = [], [], 0.0
    for _ in range(problems + 1):  # the first one compiles
        topic = np.exp(rng.standard_normal(len(C)))
        topic, stay = topic / topic.sum(), np.full(codes, 1 / codes)
        costs = np.ascontiguousarray(C[:, rng.choice(len(C), codes, replace=False)])
        start = perf_counter()
        plan = transport(topic, stay, costs)
        middle = perf_counter()
        simplex = ot.emd(topic, stay, costs, numItermax=1_000_000)
        ours.append(middle - start)
        theirs.append(perf_counter() - middle)
        apart = max(apart, float(np.abs(plan - simplex).max()))
    mine, pots = np.array(ours[1:]), np.array(theirs[1:])
    return (
        f"| {name} {len(C):,} | {codes} | {np.median(mine) * 1e3:.2f} | {np.median(pots) * 1e3:.1f} | "
        f"{np.median(pots / mine):.0f}× | {apart:.0e} |"
    )


def product(words: int, share: float, times: int, rng: np.random.Generator) -> str:
    v = rng.random((words, BATCH))
    few = sparse.random(words, words, share, format="csr", rng=rng)
    whole = few.toarray()
    seconds = []
    for _ in range(times):
        start = perf_counter()
        few @ v
        middle = perf_counter()
        whole @ v
        seconds.append((middle - start, perf_counter() - middle))
    entries, everything = np.median(seconds, axis=0)
    return f"| {words:,} | {share:.0%} | {entries * 1e3:.1f} | {everything * 1e3:.1f} | {everything / entries:.1f}× |"


def coupling(name: str, cohort: Cohort, steps: int) -> str:
    graphs = Graphs.of(*incidences(cohort, np.arange(len(cohort))))
    parts = (graphs.D, graphs.P, graphs.mu, graphs.nu, torch.zeros_like(graphs.X))
    config = gromov.CouplingConfig(steps=steps, tolerance=0.0)
    seconds, plans = [], []
    for share in (gromov.FEW, 0.0):
        start = process_time()
        with patch.object(gromov, "FEW", share):
            plans.append(gromov.couple(*parts, config).plan)
        seconds.append(process_time() - start)
    few, whole = seconds
    kept = float(gromov.weighty(plans[0], torch.float32).mean())
    apart = float((plans[0] - plans[1]).abs().sum())
    return f"| {name} | {steps} | {few:.1f} | {whole:.1f} | {whole / few:.1f}× | {kept:.1%} | {apart:.0e} |"


if __name__ == "__main__":
    main()
