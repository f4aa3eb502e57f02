"""What does each kind of evidence bring?

Run: python studies/evidence.py COHORT… [--part validation|test] [--folds 1] [--only NAMES] [--questions] [--threads 1]
The default method is trained on a cohort with some of its context columns left out. It is measured on the validation
stays of each fold, or on the test stays (80/20 by stay, split seed 0): F1@1, 3, 5, 10 and log loss per stay, from
diagnoses alone and with all the evidence there is; and how often a procedure that was removed from a stay with several
is ranked first, in the top three and in the top five, given the others as coded. Runs are kept, in
results/evidence.json.
With `--questions`: how right are the probabilities of the default if a part of the diagnoses is asked? Of each stay 1,
2 or 3 diagnoses, half of them or all are asked, drawn at random, or the first 3 as listed; taken for a whole stay and
for a question. Last, each diagnosis that is common among the stays is asked alone, and its answers are held against
all stays that have it. Runs are kept in results/questions.json.
Prints Markdown; docs/method.md, docs/results.md and docs/probabilities.md have the numbers.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import get_args
from unittest.mock import patch

import numpy as np

from dx2px import Cohort, Trained
from dx2px.methods.coupling import CouplingConfig, CouplingModel, CouplingTraining
from dx2px.methods.coupling.withholding import Withholding
from dx2px.ragged import Ragged
from dx2px.scoring.cohort_evidence import known_of, layout_for, stay_rows
from dx2px.scoring.evidence import Evidence, layout_of
from dx2px.scoring.known import FACTS
from dx2px.scoring.metrics import BATCH, Scores, evaluate
from dx2px.scoring.per_procedure import NOTICED, per_procedure
from dx2px.scoring.ranking import places
from dx2px.scoring.reliability import reliability
from dx2px.training import stays as training_stays
from dx2px.training.run import SplitConfig, learn
from kept import Record, Runs, kept, spread_cells

AGES = {
    "decades": (0, *range(10, 91, 10)),
    "three": (0, 18, 65),
}


@dataclass(frozen=True)
class Variant:
    """What a model learns from."""

    facts: tuple[str, ...] = FACTS
    evidence: Evidence = "stay"
    withheld: Withholding = field(default_factory=Withholding)
    levels: bool = True  # whether coded procedures also move the levels of the others
    ages: tuple[int, ...] | None = None  # None: those of the package

    def cohort(self, whole: Cohort) -> Cohort:
        """The cohort with only these facts."""
        assert whole.context is not None
        return replace(whole, context=whole.context.select(list(self.facts)))


ROWS, DEFAULT = "+ coded procedures as rows", "+ coded procedures (the default)"
VARIANTS = {
    "diagnoses alone": Variant(evidence="codes"),
    "+ background": Variant(facts=(), withheld=Withholding(coded=0)),
    "+ principal diagnosis": Variant(facts=("principal",), withheld=Withholding(coded=0)),
    "+ age and sex": Variant(facts=("principal", "age", "sex"), withheld=Withholding(coded=0)),
    "+ admission": Variant(withheld=Withholding(coded=0)),
    ROWS: Variant(levels=False),
    "coded procedures without facts": Variant(facts=(), levels=False),
    "nothing but single facts withheld": Variant(withheld=Withholding(alone=0), levels=False),
    "age in decades": Variant(ages=AGES["decades"], levels=False),
    "three bands of age": Variant(ages=AGES["three"], levels=False),
    DEFAULT: Variant(),
}


def run(variant: Variant, whole: Cohort, fold: int, threads: int) -> Trained:
    """Train one variant."""
    model = CouplingConfig(evidence=variant.evidence, withheld=variant.withheld)
    split = SplitConfig(by="stay", fold=fold)
    with _ages(variant.ages), nullcontext() if variant.levels else _without_levels():
        return learn(
            variant.cohort(whole),
            CouplingModel(CouplingTraining(model=model)),
            split,
            seed=fold,
            threads=threads,
        )


def _ages(ages: tuple[int, ...] | None) -> AbstractContextManager[object]:
    """Let layouts have these bands of age."""
    if ages is None:
        return nullcontext()
    return patch.object(training_stays, "layout_for", lambda stays: replace(layout_for(stays), ages=ages))


def _without_levels() -> AbstractContextManager[object]:
    """Let coded procedures be rows of evidence and no more."""
    return patch.object(CouplingModel, "_fitted_levels", lambda *_: None)


def measured(trained: Trained, part: str) -> Record:
    """F1 and probabilities by kind of evidence, and removed procedures."""
    stays, scorer = trained.stays(part), trained.scorer
    record: Record = {"removed": list(removed(trained, part))}
    for evidence in get_args(Evidence):
        rows = stay_rows(scorer, stays, evidence)
        trust = reliability(trained.calibration, scorer.scores, rows, stays.procedures).procedures
        record[evidence] = {
            "f1": list(evaluate(scorer.scores, rows, stays.procedures).mean("f1").values()),
            "log_loss": trust.log_loss,
            "gap": trust.mean_gap,
            "by_chance": trust.by_chance,
            "expected_over_observed": trust.expected_over_observed,
        }
    return record


def removed(trained: Trained, part: str, seed: int = 5) -> Iterator[float]:
    """In per cent: how often a removed procedure is ranked first, in the top three, in the top five."""
    stays, scorer = trained.stays(part), trained.scorer
    several = stays.subset(np.flatnonzero(stays.procedures.lengths > 1))
    rest, gone = one_removed(several.procedures, np.random.default_rng(seed))
    layout = layout_of(scorer)
    rows = several.diagnoses
    if layout is not None:
        rows = layout.rows(several.diagnoses, known_of(layout, several).with_coded(rest))
    scores = scored(scorer.scores, rows)
    scores[rest.row_of_entry, rest.values] = -np.inf
    place = places(scores, np.arange(len(several)), gone)
    yield from (100 * float((place <= top).mean()) for top in (1, 3, 5))


def one_removed(procedures: Ragged, rng: np.random.Generator) -> tuple[Ragged, np.ndarray]:
    """Each stay's procedures without one, and the one."""
    pick = procedures.offsets[:-1] + np.floor(rng.random(len(procedures)) * procedures.lengths).astype(
        np.int64
    )
    keep = np.ones(len(procedures.values), np.bool_)
    keep[pick] = False
    return procedures.filtered(keep), procedures.values[pick].astype(np.int64)


ASKED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "1": np.ones_like,
    "2": lambda lengths: np.minimum(lengths, 2),
    "3": lambda lengths: np.minimum(lengths, 3),
    "first 3": lambda lengths: np.minimum(lengths, 3),
    "half": lambda lengths: np.maximum(1, lengths // 2),
    "all": lambda lengths: lengths,
}


def questions(trained: Trained, part: str, seed: int = 7) -> Record:
    """How right probabilities are by how much is asked: of each stay some diagnoses, and last the stay as it is."""
    stays, scorer, stage = trained.stays(part), trained.scorer, trained.calibration
    layout, rng = layout_of(scorer), np.random.default_rng(seed)
    coded = stays.procedures.indicator(len(stays.procedure_vocabulary))
    record: Record = {}
    for name, number in ASKED.items():
        listed = stays.diagnoses if name.startswith("first") else in_random_order(stays.diagnoses, rng)
        asked = listed.filtered(listed.place_of_entry < number(listed.lengths)[listed.row_of_entry])
        scores = scored(scorer.scores, asked if layout is None else layout.rows(asked))
        record[name] = {
            "as a whole stay": trust(stage.probability(scores), coded),
            "as a question": trust(stage.of_question(scores, asked), coded),
        }
    whole = scored(scorer.scores, stay_rows(scorer, stays))
    record["all, with facts"] = {
        "as a whole stay": trust(stage.probability(whole), coded),
        "as a question": trust(stage.of_question(whole, stays.diagnoses), coded),
    }
    return record | {"each alone": alone(trained, part)}


def alone(trained: Trained, part: str) -> Record:
    """Each diagnosis that at least 100 stays have, asked alone: what is said at 30 % and more, and how many have it."""
    stays, scorer, stage = trained.stays(part), trained.scorer, trained.calibration
    has = stays.diagnoses.indicator(len(stays.diagnosis_vocabulary)).astype(np.float32)  # (i, d)
    number = has.sum(axis=0)
    often = np.flatnonzero(number >= 100)
    coded = stays.procedures.indicator(len(stays.procedure_vocabulary)).astype(np.float32)
    share = (has.T @ coded / np.maximum(number, 1)[:, None])[often]  # (d, p)
    asked = Ragged.from_lists([[one] for one in often.tolist()])
    layout = layout_of(scorer)
    scores = scored(scorer.scores, asked if layout is None else layout.rows(asked))
    ways = {"as a whole stay": stage.probability(scores), "as a question": stage.of_question(scores, asked)}
    return {way: _said_of_each(p, share, number[often]) for way, p in ways.items()}


def _said_of_each(p: np.ndarray, share: np.ndarray, stays: np.ndarray) -> Record:
    """Means over the answers of 30 % and more, (d, p), each counted once."""
    noticed = p >= NOTICED
    chance = np.sqrt(2 / np.pi * p * (1 - p) / stays[:, None])
    return {
        "answers": int(noticed.sum()),
        "log_loss": None,
        "said": float(p[noticed].mean()),
        "coded": float(share[noticed].mean()),
        "gap": float(np.abs(p - share)[noticed].mean()),
        "by_chance": float(chance[noticed].mean()),
    }


def trust(p: np.ndarray, coded: np.ndarray) -> Record:
    """Log loss, and what is said and found at 30 % and more; `often` is expected over observed with 100 stays."""
    found, noticed, often = per_procedure(p, coded), p >= NOTICED, coded.sum(axis=0) >= 100
    return {
        "log_loss": found.log_loss,
        "said": float(p[noticed].mean()),
        "coded": float(coded[noticed].mean()),
        "gap": found.mean_gap,
        "by_chance": found.by_chance,
        "expected_over_observed": found.expected_over_observed,
        "ratio_by_chance": found.ratio_by_chance,
        "often": np.quantile((p.sum(axis=0) / coded.sum(axis=0))[often], [0.05, 0.95]).tolist(),
    }


def in_random_order(rows: Ragged, rng: np.random.Generator) -> Ragged:
    """The same rows, each shuffled."""
    order = np.lexsort((rng.random(len(rows.values)), rows.row_of_entry))
    return Ragged(rows.offsets, rows.values[order])


def scored(scores: Scores, rows: Ragged) -> np.ndarray:
    """The scores of all stays, (i, p)."""
    return np.concatenate([scores(block) for block in rows.blocks(BATCH)])


def questions_table(runs: Runs) -> Iterator[str]:
    """One row per number of diagnoses asked and way to take them: means over the folds."""
    yield "| cohort | asked | taken | log loss | said at 30 % and more, % | coded, % | gap, points | by chance |"
    yield "|---|---|---|--:|--:|--:|--:|--:|"
    for (cohort, _), records in runs.items():
        for asked, ways in records[0].items():
            for way in ways:
                parts = [record[asked][way] for record in records]
                losses = [part["log_loss"] for part in parts]
                loss = "–" if None in losses else f"{np.mean(losses):.3f}"
                names = ("said", "coded", "gap", "by_chance")
                shares = [f"{100 * np.mean([part[name] for part in parts]):.1f}" for name in names]
                yield f"| {cohort} | {asked} | {way} | {loss} | {' | '.join(shares)} |"


def table(runs: Runs) -> Iterator[str]:
    """One row per cohort and variant: means over the folds, with their spread."""
    yield "| cohort | learns from | evidence asked with | F1@1 | F1@3 | F1@5 | F1@10 | log loss | gap, points |"
    yield "|---|---|---|--:|--:|--:|--:|--:|--:|"
    for (cohort, name), records in runs.items():
        for evidence in get_args(Evidence):
            parts = [record[evidence] for record in records]
            cells = spread_cells([part["f1"] for part in parts])
            cells.append(f"{np.mean([part['log_loss'] for part in parts]):.3f}")
            cells.append(f"{100 * np.mean([part['gap'] for part in parts]):.1f}")
            yield f"| {cohort} | {name} | {evidence} | {' | '.join(cells)} |"
    yield ""
    yield "| cohort | learns from | removed procedure ranked first | in the top 3 | in the top 5 |"
    yield "|---|---|--:|--:|--:|"
    for (cohort, name), records in runs.items():
        cells = spread_cells([record["removed"] for record in records])
        yield f"| {cohort} | {name} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cohorts", type=Path, nargs="+")
    parser.add_argument("--part", choices=["validation", "test"], default="validation")
    parser.add_argument("--folds", type=int, default=1)
    parser.add_argument("--only", help="names of variants, separated by semicolons")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--questions", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    names = [DEFAULT] if given.questions else given.only.split(";") if given.only else list(VARIANTS)
    measure, show = (questions, questions_table) if given.questions else (measured, table)
    out = given.out or Path(f"results/{'questions' if given.questions else 'evidence'}.json")

    def one(path: Path, name: str, fold: int) -> Record:
        return measure(run(VARIANTS[name], Cohort.load(path), fold, given.threads), given.part)

    runs: Runs = {
        (path.stem, name): [
            kept(out, f"{path.stem}/{name}/{given.part}/fold {fold}", partial(one, path, name, fold))
            for fold in range(given.folds)
        ]
        for path in given.cohorts
        for name in names
    }
    print("\n".join(show(runs)))


if __name__ == "__main__":
    main()
