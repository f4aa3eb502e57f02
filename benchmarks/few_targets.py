"""DWL's transports: our solver for few targets against POT's network simplex; prints a Markdown table.

    python benchmarks/few_targets.py [--problems 30]

A topic is the softmax of normal numbers over all words, as DWL starts; costs are scaled distances of normal vectors;
a stay has 4, 8 or 16 codes. Both solve exactly, in double precision; the table shows how far the plans differ at most.
Timed in turns, median of the ratios.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np
import ot

from dx2px.baselines.dwl import distilled_cost
from dx2px.baselines.few_targets import transport

WORDS = {"small": 274, "medium": 1069, "large": 3853}  # diagnoses and procedures of the NHDS sets
CODES = (4, 8, 16)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", type=int, default=30)
    problems = parser.parse_args().problems
    rng = np.random.default_rng(0)
    print("| words | codes of a stay | ours, ms | POT, ms | ratio | largest difference of plans |")
    print("|---|---|---|---|---|---|")
    for name, words in WORDS.items():
        C = distilled_cost(rng.standard_normal((words, 200)), 0.5)
        for codes in CODES:
            print(row(name, C, codes, problems, rng), flush=True)


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


if __name__ == "__main__":
    main()
