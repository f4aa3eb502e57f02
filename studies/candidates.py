"""Could a search find the best procedures of a stay, so that not all of them need be scored?

Run: python studies/candidates.py COHORT.parquet [MODEL] [--stays 2000]
The default model's score is log Σ_d exp(h_d·v_p + s_d) + b_p, so each diagnosis, and each row of other evidence, asks
its own nearest-vector question. With c candidates per diagnosis, the table shows how many of the true ten best are
among the candidates of all diagnoses, and how many procedures these are. The searches here are exact; an approximate
index loses a little more. The second table asks how many procedures an exact search must score, those whose bound is
above the tenth best score: with clusters of the procedures' vectors, a bound from each cluster's centre and radius;
with the first directions of their singular value decomposition, a bound from the length of what is left out.
MODEL is a folder or a name, by default the model inside the package. docs/scale.md has the numbers.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.cluster.vq import kmeans2  # type: ignore[import-untyped]

from dx2px import Cohort, Model
from dx2px.answers.shipped import model_path
from dx2px.cohort.projection import project
from dx2px.ragged import Ragged
from dx2px.scoring.cohort_evidence import stay_rows
from dx2px.scoring.coupling import CouplingScorer
from dx2px.scoring.ranking import top_l
from dx2px.scoring.segments import Doubles

CANDIDATES, CLUSTERS, DIRECTIONS = (10, 20, 50, 100), (26, 60, 120), (16, 32, 64)
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


@dataclass(frozen=True)
class Questions:
    """Some stays as they are asked, and what their tenth best procedure has."""

    h: list[Doubles]  # of each stay, (n, m)
    s: list[Doubles]  # (n,)
    tenth: Doubles

    @classmethod
    def of(cls, model: Model, scorer: CouplingScorer, stays: Ragged) -> Questions:
        arrays = {name: array.astype(np.float64) for name, array in model.files.arrays.items()}
        h, s = [], []
        for codes in np.split(stays.values, stays.offsets[1:-1]):
            u = scorer.U[codes].astype(np.float64)
            h.append(u * (1 + np.tanh(arrays["G"] @ u.sum(axis=0) / np.sqrt(len(u)) + arrays["g"])))
            s.append(scorer.s[codes].astype(np.float64))
        return cls(h, s, np.sort(scorer.scores(stays), axis=1)[:, -TOP])

    def to_score(
        self, directions: Doubles, slack: Doubles, beyond: Doubles, b: Doubles, size: Doubles
    ) -> float:
        """The mean share of the procedures whose bound reaches the tenth best score.

        A bound is log Σ_d exp(h_d·direction + |h_d beyond| slack + s_d) + b; `size` counts the procedures it is of.
        """
        found = []
        for h, s, tenth in zip(self.h, self.s, self.tenth, strict=True):
            lengths = np.linalg.norm(h @ beyond, axis=1)
            bound = np.logaddexp.reduce(h @ directions.T + lengths[:, None] * slack + s[:, None]) + b
            found.append(size[bound >= tenth].sum() / size.sum())
        return float(np.mean(found))


def by_cluster(questions: Questions, V: Doubles, b: Doubles, clusters: int) -> float:
    """How much an exact search by clusters must score."""
    centres, of = kmeans2(V, clusters, minit="++", seed=0)
    away = np.linalg.norm(V - centres[of], axis=1)
    parts = [of == k for k in np.unique(of)]
    slack, highest, size = (
        np.array([f(part) for part in parts]) for f in (lambda p: away[p].max(), lambda p: b[p].max(), np.sum)
    )
    return questions.to_score(centres[np.unique(of)], slack, np.eye(V.shape[1]), highest, size)


def by_direction(questions: Questions, V: Doubles, b: Doubles, directions: int) -> float:
    """How much an exact search must score after a first pass in a few directions."""
    W = np.linalg.svd(V, full_matrices=False)[2][:directions].T
    beyond = np.eye(V.shape[1]) - W @ W.T
    return questions.to_score(V @ W @ W.T, np.linalg.norm(V @ beyond, axis=1), beyond, b, np.ones(len(V)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cohort", type=Path)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--stays", type=int, default=2000)
    arguments = parser.parse_args()
    model = Model.load(model_path(arguments.model))
    scorer = model.scorer
    if not isinstance(scorer, CouplingScorer):
        raise SystemExit("This study needs a model of the default method.")
    cohort = project(
        Cohort.load(arguments.cohort), model.diagnoses.vocabulary, model.procedures.vocabulary
    ).cohort
    chosen = np.random.default_rng(0).permutation(len(cohort))[: arguments.stays]
    stays = stay_rows(scorer, cohort.subset(chosen))
    print(f"{len(stays):,} stays, {len(model.files.procedures):,} procedures\n")
    print("| candidates per diagnosis | ten best found | candidates per stay |\n|---|---|---|")
    for c in CANDIDATES:
        share, size = found(scorer, stays, c)
        print(f"| {c} | {share:.2%} | {size:.0f} |")
    questions = Questions.of(model, scorer, stays)
    V, b = (array.astype(np.float64) for array in (model.files.arrays["V"], scorer.b))
    print("\n| exact search by | procedures to score |\n|---|---|")
    for count in CLUSTERS:
        print(f"| {count} clusters | {by_cluster(questions, V, b, count):.0%} |")
    for count in DIRECTIONS:
        print(f"| {count} of {V.shape[1]} directions | {by_direction(questions, V, b, count):.0%} |")


if __name__ == "__main__":
    main()
