"""Why does GWL rank so low: its optimiser, its objective, or the number of stays? Validation F1 on one cohort.

Run: python studies/gwl.py COHORT [--fold 0]
Split by stay, one of ten folds inside 80 %; half a minute of CPU on NHDS small. Rows: GWL as published; without its
coupling; with Reg a mean over a batch's pairs instead of their sum; with ten times the steps, ten times the step
size, another start, another σ; on fewer stays; on all of them with counts as small as those of fewer. Beside F1: how
much of the variance of the distances 1/(1+w) between the kinds the vectors leave unexplained. "Ideal" scores by these
distances themselves, which a perfect fit would reproduce; "by w" by the counts they are made of. Prints Markdown
(docs/baselines.md has the numbers), then two facts about the graphs: how many pairs of procedures that both often
occur with a diagnosis never occur together, and how the coupling of the first round ends.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from dx2px.methods.counts import incidences
from dx2px.methods.gwl.gromov import CouplingConfig, couple
from dx2px.methods.gwl.gwl import Embedding, Graphs, GwlConfig, kappa
from dx2px.methods.initial import InitConfig, initial
from pairs import HEAD, Pairs, cells

FEWER = (8000, 3000, 1000, 300)


@dataclass(frozen=True, eq=False)
class Study:
    """Pairs of codes and the graphs that their counts make."""

    pairs: Pairs
    graphs: Graphs

    @classmethod
    def of(cls, pairs: Pairs) -> Study:
        return cls(pairs, Graphs.of(*incidences(pairs.task.cohort, pairs.task.training)))

    @property
    def w(self) -> NDArray[np.float64]:
        return self.pairs.w

    def f1(self, table: NDArray[np.floating]) -> list[float]:
        return self.pairs.f1(table)

    def learned(self, config: GwlConfig, coupled: bool) -> tuple[NDArray[np.float32], float]:
        """The scores of GWL, and the share of the variance of C^X that they leave unexplained."""
        start = initial(self.pairs.task.sizes, config.dim, config.init, 0)
        vectors = Embedding(config, self.graphs, start, 0)
        plan = torch.zeros_like(self.graphs.X)
        for number in range(config.rounds):
            alpha = number / config.rounds if coupled else 0.0
            vectors.fit(alpha, vectors.couple(alpha).plan if coupled else plan)
        found = kappa(vectors.U.detach(), vectors.V.detach(), config.sigma)
        residual = (found - self.graphs.X).square().mean() / self.graphs.X.var(correction=0)
        return -found.numpy(), float(residual)


def scaled(graphs: Graphs, factor: float) -> Graphs:
    """The distances that counts times `factor` would give."""

    def distances(C: torch.Tensor) -> torch.Tensor:
        return 1 / (1 + factor * (1 / C - 1))

    return replace(graphs, D=distances(graphs.D), P=distances(graphs.P), X=distances(graphs.X))


def strangers(study: Study, often: int = 20) -> float:
    """Of the pairs of procedures that both occur with a diagnosis `often`, the share that no stay has together."""
    P = incidences(study.pairs.task.cohort, study.pairs.task.training)[1]
    apart = (P.T @ P).toarray() == 0
    never = total = 0
    for near in study.w >= often:
        among = apart[np.ix_(near, near)]
        never += int(among.sum()) // 2
        total += len(among) * (len(among) - 1) // 2
    return never / total


def facts(study: Study) -> None:
    seen, six = (study.w > 0).mean(), (study.w >= 6).mean()
    print(f"\nPairs of codes that occur together: {seen:.0%}, at least six times: {six:.0%}.")
    print(
        f"Of two procedures that occur with a diagnosis 20 times or more, {strangers(study):.0%} never occur together."
    )
    g = study.graphs
    for steps in (200, 2000):
        found = couple(g.D, g.P, g.mu, g.nu, torch.zeros_like(g.X), CouplingConfig(steps=steps))
        print(
            f"Coupling after {found.steps} steps: change {found.change:.1g}, column error {found.column_error:.2g}."
        )


def show(name: str, f1: list[float], residual: float | None, seconds: float | None) -> None:
    rest = "–" if residual is None else f"{residual:.0%}"
    print(f"| {name} | {cells(f1)} | {rest} | {'–' if seconds is None else f'{seconds:.0f}'} |", flush=True)


def try_out(name: str, study: Study, config: GwlConfig, coupled: bool = False) -> None:
    start = time.process_time()
    table, residual = study.learned(config, coupled)
    show(name, study.f1(table), residual, time.process_time() - start)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cohort", type=Path)
    parser.add_argument("--fold", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    pairs, config = Pairs.of(arguments.cohort, arguments.fold), GwlConfig()
    rows, study = pairs.task.training, Study.of(pairs)
    print(f"| | {HEAD} | variance of C^X unexplained | CPU seconds |\n|---|---|---|---|---|---|---|")
    show("by w", study.f1(study.w / study.w.sum(1, keepdims=True).clip(1)), None, None)
    show("ideal, −1/(1+w)", study.f1(-1 / (1 + study.w)), 0.0, None)
    try_out("GWL as published", study, config, coupled=True)
    try_out("without the coupling", study, config)
    try_out("Reg a mean", study, replace(config, fit=config.fit / config.nodes**2), coupled=True)
    try_out("ten times the epochs", study, replace(config, epochs=10 * config.epochs))
    try_out("ten times the step size", study, replace(config, lr=10 * config.lr))
    try_out("started from uniform ±1/M", study, replace(config, init=InitConfig("uniform", None)))
    for sigma in (1.0, 3.0):
        try_out(f"σ = {sigma:g}", study, replace(config, sigma=sigma))
    for number in FEWER:
        fewer = np.sort(np.random.default_rng(0).permutation(rows)[:number])
        part = Study.of(replace(pairs, task=replace(pairs.task, training=fewer)))
        show(f"{number:,} training stays: ideal", part.f1(-1 / (1 + part.w)), 0.0, None)
        try_out(f"{number:,} training stays: GWL", part, config)
    for number in FEWER:
        lighter = replace(study, graphs=scaled(study.graphs, number / len(rows)))
        try_out(f"all stays, counts as of {number:,}", lighter, config)
    facts(study)


if __name__ == "__main__":
    main()
