"""How right are probabilities procedure by procedure, with less left to chance than one test part leaves?

Run: python studies/rotation.py COHORT… [--only NAMES] [--base MODEL] [--parts 5] [--threads 1]
         [--out results/rotation.json]
The stays are divided into five parts. Each part is answered by a model that learned from the other four, a tenth of
which validated it; then the answers for all stays are measured together. So every procedure has five times the test
stays, and chance makes a smaller gap. The five models are not one model: what each gets wrong by itself partly evens
out, as in an average. So the mean over the five parts, each measured by itself, stands beside it.
`coupling` learns with all evidence, and is asked with all of it and with diagnoses alone. With --base, a model is
adapted instead, to the four parts. Runs are kept in a JSON file. Prints Markdown; docs/probabilities.md has the
numbers, and docs/travel.md those of adapted models.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

from dx2px import Cohort, Model, Split, SplitConfig, Trained, __version__, split_cohort
from dx2px.cohort.splits import TEST
from dx2px.lab.benchmark.settings import method_with
from dx2px.methods.coupling.adapted import AdaptedModel
from dx2px.methods.coupling.warm_start import Base
from dx2px.scoring.cohort_evidence import stay_rows
from dx2px.scoring.evidence import Evidence, layout_of
from dx2px.scoring.per_procedure import PerProcedure, per_procedure
from dx2px.scoring.points import scored_pairs
from dx2px.training.loop import set_threads
from dx2px.training.run import learn
from kept import Record, kept

HEAD = (
    "cohort | method | asked with | measured | log loss | gap, points | p90 | by chance "
    "| expected / observed, 5–95 % | by chance | procedures"
)
WORST = 10  # procedures that a record names
METHODS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "coupling": ("coupling", {"evidence": "stay"}),
    "coupling, learned from diagnoses alone": ("coupling", {}),
    "mlp": ("mlp", {}),
}


@dataclass(frozen=True)
class Turn(SplitConfig):
    """The split in which one part is tested; the others together have ten folds, of which one validates."""

    part: int = 0
    parts: int = 5

    def split(self, cohort: Cohort) -> Split:
        """Every stay is tested in exactly one of the turns."""
        pieces = split_cohort(cohort, by="stay", folds=self.parts * self.folds, test_share=0, seed=self.seed)
        tested = pieces.part // self.folds == self.part
        part = np.where(tested, TEST, pieces.part % self.folds).astype(np.int16)
        return Split(part, self.folds, "stay", self.seed, 1 / self.parts)


def turned(cohort: Cohort, name: str, turn: Turn) -> Trained:
    """A model that has not seen the part of this turn."""
    method, settings = METHODS[name]
    return learn(cohort, method_with(method, settings), turn, seed=turn.part)


def adapted(cohort: Cohort, start: str, turn: Turn) -> Trained:
    """Likewise, but adapted from a model."""
    base = Base.of(Model.load(start).files, start, cohort)
    return learn(base.cohort, AdaptedModel(base), turn, seed=turn.part)


def answered(trained: Trained, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities of the test part, (i, p), and what was coded."""
    stays = trained.stays("test")
    s, coded = scored_pairs(
        trained.scorer.scores, stay_rows(trained.scorer, stays, evidence), stays.procedures
    )
    return trained.calibration.probability(s).astype(np.float32), coded


def rotated(cohort: Cohort, learned: Callable[[Turn], Trained], parts: int) -> Record:
    """All parts answered, then measured together and each by itself; by what was asked with."""
    answers: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for part in range(parts):
        trained = learned(Turn(fold=part, part=part, parts=parts))
        for way in get_args(Evidence) if layout_of(trained.scorer) else ("codes",):
            answers.setdefault(way, []).append(answered(trained, way))
    codes = trained.cohort.procedure_vocabulary.codes
    measured = {way: _measured(found, codes) for way, found in answers.items()}
    return {"version": __version__, "stays": len(cohort), **measured}


def _measured(answers: list[tuple[np.ndarray, np.ndarray]], codes: tuple[str, ...]) -> Record:
    p, coded = (np.concatenate(some) for some in zip(*answers, strict=True))
    together = per_procedure(p, coded)
    worst = [
        {"code": codes[one.procedure], "stays": one.stays, "said": one.predicted, "coded": one.observed}
        for one in together.gaps[:WORST]
    ]
    each = [_record(per_procedure(*one)) for one in answers]
    return {"together": _record(together), "each": each, "worst": worst}


def _record(found: PerProcedure) -> Record:
    return found.to_dict() | {"brier": found.brier}


def lines(cohort: str, method: str, record: Record) -> Iterator[str]:
    """Two rows per kind of evidence: all stays together, and the mean over the parts."""
    for way in (one for one in get_args(Evidence) if one in record):
        for measured, found in (("all stays", [record[way]["together"]]), ("each part", record[way]["each"])):
            cells = [
                f"{_mean(found, 'log_loss'):.3f}",
                *(f"{100 * _mean(found, name):.1f}" for name in ("mean_gap", "p90_gap", "by_chance")),
                *(_quantiles(found, name) for name in ("expected_over_observed", "ratio_by_chance")),
                f"{_mean(found, 'counted'):.0f}",
            ]
            yield f"| {cohort} | {method} | {way} | {measured} | {' | '.join(cells)} |"


def _mean(records: list[Record], name: str) -> Any:
    return np.mean([one[name] for one in records], axis=0)


def _quantiles(records: list[Record], name: str) -> str:
    low, high = _mean(records, name)
    return f"{low:.2f}–{high:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cohorts", nargs="+", type=Path)
    parser.add_argument("--only", help="names of methods, separated by semicolons")
    parser.add_argument("--base", help="a model to adapt to each cohort; without it, models are trained")
    parser.add_argument("--parts", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/rotation.json"))
    given = parser.parse_args()
    print(f"| {HEAD} |\n{'|---' * (HEAD.count('|') + 1)}|")
    set_threads(given.threads)
    named = dict.fromkeys(given.only.split(";") if given.only else METHODS, turned)
    if given.base:
        named = {given.base: adapted}
    for path in given.cohorts:
        cohort = Cohort.load(path)
        for name, way in named.items():
            label = f"adapted from {name}" if given.base else name
            run = partial(rotated, cohort, partial(way, cohort, name), given.parts)
            record = kept(given.out, f"{path.stem}/{label}/{given.parts} parts", run)
            print("\n".join(lines(path.stem, label, record)), flush=True)


if __name__ == "__main__":
    main()
