"""Is the default method ahead of the two strongest baselines on small cohorts too? Test F1, mean ± spread over runs.

Run: python studies/any_cohort.py COHORT… [--sizes 300 1000] [--part test] [--runs 3] [--out results/any_cohort.json]
Without --sizes, run k of a cohort has fold k as its validation stays (80/20 by stay). With --sizes, run k draws that
many stays, keeps the codes of at least five of them, and learns from a split of these; 3,000 stays outside the draw are
its test stays, and 3,000 others are those on which settings were chosen. All methods learn from diagnoses alone. Runs
are kept in a JSON file, so an interrupted table goes on where it stopped. Prints Markdown; docs/results-tables.md
has the numbers. With --batch-size and --dropout, the default method alone is run with these, as docs/method.md has it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dx2px import Cohort, CouplingConfig, CouplingTraining, SplitConfig, __version__
from dx2px.cohort.projection import project
from dx2px.cohort.vocabulary import Vocabulary
from dx2px.lab.benchmark.settings import method_with
from dx2px.methods.coupling import CouplingModel
from dx2px.scoring.metrics import evaluate
from dx2px.training.recommender import Recommender
from dx2px.training.run import learn
from kept import kept, spread_cells

METHODS: dict[str, Callable[[], Recommender]] = {
    name: partial(method_with, name, {}) for name in ("linear", "mlp", "coupling")
}
PARTS = ("validation", "test")
LEAST = 5  # stays that a code of a drawn cohort needs
OUTSIDE = 3_000  # stays outside the draw that each part has
TOPS = (1, 3, 5, 10)


def drawn(full: Cohort, size: int, run: int) -> tuple[Cohort, dict[str, Cohort]]:
    """A cohort of this many stays, fewer where rare codes leave some empty, and the stays that measure it."""
    order = np.random.default_rng(run).permutation(len(full))
    if size + 2 * OUTSIDE > len(order):
        raise SystemExit(f"{len(order):,} stays are too few to draw {size:,} and measure with others.")
    few = full.subset(np.sort(order[:size]))
    known = (
        _frequent(few.diagnosis_vocabulary, few.diagnosis_counts),
        _frequent(few.procedure_vocabulary, few.procedure_counts),
    )
    rows = {"validation": order[-OUTSIDE:], "test": order[-2 * OUTSIDE : -OUTSIDE]}
    outside = {part: project(full.subset(np.sort(rows[part])), *known).cohort for part in PARTS}
    return project(few, *known).cohort, outside


def _frequent(codes: Vocabulary, counts: Any) -> Vocabulary:
    return Vocabulary(codes[i] for i in np.flatnonzero(counts >= LEAST))


def varied(batch_size: int | None, dropout: float | None) -> dict[str, Callable[[], Recommender]]:
    """The default method with these settings; what is None follows the number of stays."""
    if batch_size is None and dropout is None:
        return METHODS
    config = CouplingTraining(batch_size=batch_size, model=CouplingConfig(evidence="codes", dropout=dropout))
    return {f"coupling, batch {batch_size}, dropout {dropout}": partial(CouplingModel, config)}


def one(full: Cohort, method: Callable[[], Recommender], size: int | None, run: int) -> dict[str, Any]:
    """The numbers of one run."""
    cohort, outside = (full, None) if size is None else drawn(full, size, run)
    split = SplitConfig(by="stay", fold=run if size is None else 0)
    trained = learn(cohort, method(), split, threads=1)
    measured = {part: trained.stays(part) for part in PARTS} if outside is None else outside
    f1 = {
        part: evaluate(trained.scorer.scores, stays.diagnoses, stays.procedures).mean("f1")
        for part, stays in measured.items()
    }
    tops = {part: [round(found[L], 3) for L in TOPS] for part, found in f1.items()}
    return {"version": __version__, "stays": len(cohort), **tops}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cohorts", nargs="+", type=Path)
    parser.add_argument("--sizes", nargs="*", type=int, help="numbers of stays to draw; by default all")
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--dropout", type=float)
    parser.add_argument("--part", choices=PARTS, default="test")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("results/any_cohort.json"))
    given = parser.parse_args()
    print(f"| cohort | method | {' | '.join(f'F1@{L}, %' for L in TOPS)} |\n|---|---|---|---|---|---|")
    for path in given.cohorts:
        full = Cohort.load(path)
        for size in given.sizes or [None]:
            name = path.stem if size is None else f"{path.stem}, {size:,} stays"
            for label, method in varied(given.batch_size, given.dropout).items():
                runs = [
                    kept(given.out, f"{name}/{label}/{run}", partial(one, full, method, size, run))
                    for run in range(given.runs)
                ]
                print(
                    f"| {name} | {label} | {' | '.join(spread_cells([r[given.part] for r in runs]))} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
