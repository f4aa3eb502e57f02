"""Could a search by diagnosis find the best procedures of a stay, so that not all of them need be scored?

Run: python benchmarks/candidates.py COHORT.parquet [MODEL] [--stays 2000]
The default model's score is log Σ_d exp(h_d·v_p + s_d) + b_p, so each diagnosis asks its own nearest-vector question.
For c candidates a diagnosis the table says how much of the true ten best is among all diagnoses' candidates, and how
many procedures these are. The searches here are exact; an approximate index loses a little more. MODEL: a folder or a
name, by default the model inside the package.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from dx2px import Cohort, Model
from dx2px.evaluation import project
from dx2px.inference.coupling import CouplingScorer
from dx2px.inference.shipped import model_path
from dx2px.model.ranking import top_l
from dx2px.ragged import Ragged

CANDIDATES = (10, 20, 50, 100)
TOP = 10


def found(scorer: CouplingScorer, stays: Ragged, c: int) -> tuple[float, float]:
    """Mean share of the ten best among the candidates, and mean number of candidates."""
    shares, sizes = [], []
    for row in range(len(stays)):
        stay = stays.take([row])
        asked = scorer.pairs(stay) + scorer.b  # (n, p)
        candidates = np.unique(top_l(asked, min(c, asked.shape[1])))
        best = top_l(scorer.scores(stay), TOP)[0]
        shares.append(np.isin(best, candidates).mean())
        sizes.append(len(candidates))
    return float(np.mean(shares)), float(np.mean(sizes))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cohort", type=Path)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--stays", type=int, default=2000)
    arguments = parser.parse_args()
    model = Model.load(model_path(arguments.model))
    if not isinstance(model.scorer, CouplingScorer):
        raise SystemExit("This is about models of the default method.")
    cohort = project(
        Cohort.load(arguments.cohort), model.diagnoses.vocabulary, model.procedures.vocabulary
    ).cohort
    chosen = np.random.default_rng(0).permutation(len(cohort))[: arguments.stays]
    stays = cohort.diagnoses.take(chosen)
    print(f"{len(stays):,} stays, {len(model.files.procedures):,} procedures\n")
    print("| candidates a diagnosis | ten best found | candidates a stay |\n|---|---|---|")
    for c in CANDIDATES:
        share, size = found(model.scorer, stays, c)
        print(f"| {c} | {share:.2%} | {size:.0f} |")


if __name__ == "__main__":
    main()
