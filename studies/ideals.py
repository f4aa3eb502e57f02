"""What would a method with vectors score if its objective were met exactly, and how near do its vectors come?

Run: python studies/ideals.py COHORT [--folds 3]
Split by stay, the first folds of ten inside 80 %, tested on the other 20 %. w is the number of training stays with
both codes, n_d that of a diagnosis. At its optimum Word2Vec's score of a pair is log((w + δ) / (π_p Σ_q w_dq)), π its
noise: with ¾ powers of frequency as in the table, or uniform, which demotes no procedure for being frequent. GWL's is
−1/(1 + w). BPR and DWL learn from whole stays, so no count of pairs decides their optimum; like all others they are
compared with w/n_d. Rank correlation is Spearman's, over the scores of all procedures for one diagnosis, averaged over
the diagnoses of the training stays. Prints Markdown, mean and deviation over the folds; docs/baselines.md has the
numbers.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import log_expit
from scipy.stats import rankdata

from dx2px.cohort import Ragged
from dx2px.methods import recommender
from dx2px.methods.word2vec import Word2Vec, Word2VecConfig, noise
from dx2px.training.recommender import Recommender
from kept import spread_cells
from pairs import HEAD, Pairs

DELTA = 0.1  # stays added to each pair, so that an unseen pair has a logarithm
Table = NDArray[np.floating]  # (d, p)


def learned(method: Recommender, pairs: Pairs) -> Table:
    """The score of each pair: what the method gives a stay with one diagnosis."""
    task = pairs.task
    method.fit(task.cohort, task.training, task.validation, seed=task.seed)
    return method.scores(Ragged.from_lists([[d] for d in range(task.sizes[0])]))


def by_noise(pairs: Pairs, power: float) -> Table:
    """Word2Vec's optimum."""
    pi = noise(pairs.task.seen["popularity"], power).numpy()
    rows = pairs.w.sum(1, keepdims=True).clip(1)
    return np.asarray(np.log((pairs.w + DELTA) / rows) - np.log(pi.clip(1e-12)))


def by_share(pairs: Pairs) -> Table:
    """w/n_d."""
    return np.asarray(pairs.w / pairs.counts.diagnoses.clip(1)[:, None])


def correlation(pairs: Pairs, one: Table, other: Table) -> float:
    """Mean over the diagnoses of Spearman's correlation over the procedures; codes of training stays only."""
    rows, columns = pairs.w.sum(1) > 0, pairs.w.sum(0) > 0
    a, b = (rankdata(table[rows][:, columns], axis=1) for table in (one, other))
    a, b = a - a.mean(1, keepdims=True), b - b.mean(1, keepdims=True)
    lengths = np.sqrt((a**2).sum(1) * (b**2).sum(1))
    return float(((a * b).sum(1)[lengths > 0] / lengths[lengths > 0]).mean())


def rows_of(pairs: Pairs) -> Iterator[tuple[str, Table, Table | None]]:
    """Name, table of scores, and that of the ideal."""
    share = by_share(pairs)
    popularity = np.broadcast_to(pairs.counts.procedures, pairs.w.shape)
    yield "popularity", popularity, None
    yield "w/n_d", share, None
    for name, power in (("¾ noise, in the table", 0.75), ("uniform noise", 0.0)):
        ideal = by_noise(pairs, power)
        found = learned(Word2Vec(Word2VecConfig(noise_power=power)), pairs)
        yield f"Word2Vec, {name}", found, ideal
        if power:
            yield "the same vectors by Σ log σ", log_expit(found), ideal
        yield "its ideal", ideal, None
    yield "GWL", learned(recommender("gwl"), pairs), -1 / (1 + pairs.w)
    yield "its ideal", -1 / (1 + pairs.w), None
    yield "BPR", learned(recommender("bpr"), pairs), None
    yield "DWL by distance", learned(recommender("dwl", rule="euclidean"), pairs), None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cohort", type=Path)
    parser.add_argument("--folds", type=int, default=3)
    given = parser.parse_args()
    torch.set_num_threads(1)
    found: dict[int, tuple[str, list[list[float]]]] = {}  # by place: two rows are called "its ideal"
    for fold in range(given.folds):
        pairs = Pairs.of(given.cohort, fold, "test")
        share = by_share(pairs)
        for place, (name, table, ideal) in enumerate(rows_of(pairs)):
            own = np.nan if ideal is None else 100 * correlation(pairs, table, ideal)
            values = [*pairs.f1(table), own, 100 * correlation(pairs, table, share)]
            found.setdefault(place, (name, []))[1].append(values)
    print(f"| | {HEAD} | rank correlation with its ideal, % | with w/n_d, % |\n|---|---|---|---|---|---|---|")
    for name, runs in found.values():
        cells = [cell if "nan" not in cell else "–" for cell in spread_cells(runs)]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
