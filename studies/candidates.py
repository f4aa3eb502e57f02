"""Could a search by diagnosis find the best procedures of a stay, so that not all of them need be scored?

Run: python studies/candidates.py COHORT.parquet [MODEL] [--stays 2000]
The default model's score is log Σ_d exp(h_d·v_p + s_d) + b_p, so each diagnosis, and each row of other evidence, asks
its own nearest-vector question. With c candidates per diagnosis, the table shows how many of the true ten best are
among the candidates of all diagnoses, and how many procedures these are. The searches here are exact; an approximate
index loses a little more.
MODEL is a folder or a name, by default the model inside the package. docs/scale.md has the numbers.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from dx2px import Cohort, Model
from dx2px.answers.shipped import model_path
from dx2px.cohort.projection import project
from dx2px.ragged import Ragged
from dx2px.scoring.cohort_evidence import stay_rows
from dx2px.scoring.coupling import CouplingScorer
from dx2px.scoring.ranking import top_l

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
        raise SystemExit("This study needs a model of the default method.")
    cohort = project(
        Cohort.load(arguments.cohort), model.diagnoses.vocabulary, model.procedures.vocabulary
    ).cohort
    chosen = np.random.default_rng(0).permutation(len(cohort))[: arguments.stays]
    stays = stay_rows(model.scorer, cohort.subset(chosen))
    print(f"{len(stays):,} stays, {len(model.files.procedures):,} procedures\n")
    print("| candidates per diagnosis | ten best found | candidates per stay |\n|---|---|---|")
    for c in CANDIDATES:
        share, size = found(model.scorer, stays, c)
        print(f"| {c} | {share:.2%} | {size:.0f} |")


if __name__ == "__main__":
    main()
