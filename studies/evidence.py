"""What each kind of evidence brings, on validation stays.

Run: python studies/evidence.py COHORT [--folds 1] [--threads 1] > evidence.md
The default method is trained on the cohort with some of its context columns left out, and measured on the validation
stays of each fold (80/20 by stay, split seed 0): F1@1, 3, 5, 10 from diagnoses alone and with all the evidence there
is, and how often a procedure that was removed from a stay with several is ranked first, in the top three and in the top
five, given the others as coded. Prints Markdown; docs/method.md has the numbers.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np

from dx2px import Cohort, Trained
from dx2px.methods.coupling import CouplingConfig, CouplingModel, CouplingTraining
from dx2px.methods.coupling.withholding import Withholding
from dx2px.ragged import Ragged
from dx2px.scoring.evidence import FACTS, Evidence, EvidenceLayout, layout_of, stay_rows
from dx2px.scoring.metrics import BATCH, evaluate
from dx2px.scoring.ranking import places
from dx2px.training.run import SplitConfig, learn

AGES = {
    "decades": (0, *range(10, 91, 10)),
    "three": (0, 18, 65),
}


@dataclass(frozen=True)
class Variant:
    """What a model learns from."""

    name: str
    facts: tuple[str, ...] = FACTS
    evidence: Evidence = "stay"
    withheld: Withholding = field(default_factory=Withholding)
    ages: tuple[int, ...] | None = None  # None: those of the package

    def cohort(self, whole: Cohort) -> Cohort:
        """The cohort with only these facts."""
        assert whole.context is not None
        return replace(whole, context=whole.context.select(list(self.facts)))


VARIANTS = (
    Variant("diagnoses alone", evidence="codes"),
    Variant("+ background", facts=(), withheld=Withholding(coded=0)),
    Variant("+ principal diagnosis", facts=("principal",), withheld=Withholding(coded=0)),
    Variant("+ age and sex", facts=("principal", "age", "sex"), withheld=Withholding(coded=0)),
    Variant("+ admission", withheld=Withholding(coded=0)),
    Variant("+ coded procedures (the default)"),
    Variant("coded procedures without facts", facts=()),
    Variant("nothing but single facts withheld", withheld=Withholding(alone=0)),
    Variant("age in decades", ages=AGES["decades"]),
    Variant("three bands of age", ages=AGES["three"]),
)


def run(variant: Variant, whole: Cohort, fold: int, threads: int) -> Trained:
    """Train one variant."""
    model = CouplingConfig(evidence=variant.evidence, withheld=variant.withheld)
    split = SplitConfig(by="stay", fold=fold)
    with _ages(variant.ages):
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
    of_cohort = EvidenceLayout.of_cohort
    return patch.object(EvidenceLayout, "of_cohort", lambda stays: replace(of_cohort(stays), ages=ages))


def measured(trained: Trained) -> Iterator[float]:
    """The cells of a row."""
    stays, scorer = trained.stays("validation"), trained.scorer
    for evidence in ("codes", "stay"):
        rows = stay_rows(scorer, stays, evidence)
        yield from evaluate(scorer.scores, rows, stays.procedures).mean("f1").values()
    yield from removed(trained)


def removed(trained: Trained, seed: int = 5) -> Iterator[float]:
    """In per cent: how often a removed procedure is ranked first, in the top three, in the top five."""
    stays, scorer = trained.stays("validation"), trained.scorer
    several = stays.subset(np.flatnonzero(stays.procedures.lengths > 1))
    rest, gone = one_removed(several.procedures, np.random.default_rng(seed))
    layout = layout_of(scorer)
    rows = several.diagnoses
    if layout is not None:
        rows = layout.rows(several.diagnoses, layout.known(several).with_coded(rest))
    scores = np.concatenate([scorer.scores(block) for block in rows.blocks(BATCH)])
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cohort", type=Path)
    parser.add_argument("--folds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    whole = Cohort.load(given.cohort)
    print(
        "| learns from | F1@1, 3, 5, 10 from diagnoses alone | with all evidence | removed: first, top 3, top 5 |"
    )
    print("|---|---|---|---|")
    for variant in VARIANTS:
        rows = [list(measured(run(variant, whole, fold, given.threads))) for fold in range(given.folds)]
        cells = np.mean(rows, axis=0)
        parts = (cells[:4], cells[4:8], cells[8:])
        shown = (", ".join(f"{value:.1f}" for value in part) for part in parts)
        print(f"| {variant.name} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
