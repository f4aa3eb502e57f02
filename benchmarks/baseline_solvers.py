"""The inner solvers of DWL and GWL: ours against POT's network simplex, few entries against all; prints tables.

    python benchmarks/baseline_solvers.py [--problems 30] [--steps 200] [--cohorts COHORT…]

DWL: a topic is the softmax of normal numbers over all words, as DWL starts; costs are scaled distances of normal
vectors; a stay has 4, 8 or 16 codes. Both solve exactly, in double precision; the table shows how far the plans differ
at most. Timed in turns, median of the ratios.
GWL: the coupling of the first round on the synthetic medium cohort and on given ones, the larger product over the
weighty entries of the plan and over all; with the share of such entries in the last step, and the plans' L1 distance
(their mass is 1). DWL's kernel, which is kept whole from some share of entries on: a product with a batch's 256 stays
and 8 topics, of the entries alone and of all, by their share.
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
from dx2px.baselines import gromov
from dx2px.baselines.dwl import distilled_cost
from dx2px.baselines.few_targets import transport
from dx2px.baselines.gwl import Graphs
from dx2px.baselines.stays import incidences
from dx2px.cohort.synthetic import PRESETS, synthesize

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
    print("| words | codes of a stay | ours, ms | POT, ms | ratio | largest difference of plans |")
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
    print("\n| GWL on | steps | weighty entries, CPU s | all, CPU s | ratio | entries | plans apart |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        invented = Path(folder) / "synthetic medium.parquet"
        synthesize(invented, PRESETS["medium"])
        for path in (invented, *arguments.cohorts):
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
