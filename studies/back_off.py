"""What does back-off bring? Diagnoses that the model does not know are dropped, or replaced by known siblings.

Run: python studies/back_off.py MODEL… --narrow nhds_medium.parquet --wide nhds_large.parquet
Models are folders trained on the narrow cohort; the wide one holds the same stays with rarer codes. Measured on the
narrow cohort's test stays with a diagnosis that only the wide vocabulary has, and on stays with no other diagnosis:
these can only be answered by the popularity of procedures without back-off. Prints Markdown: mean F1, and the paired
difference to dropping (to popularity) with a 95 % interval, in points. docs/probabilities.md has the numbers.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from dx2px import Cohort, Model
from dx2px.cohort.projection import project
from dx2px.ragged import Ragged
from dx2px.scoring.cohort_evidence import stay_rows
from dx2px.scoring.measured import learning_part
from dx2px.scoring.metrics import Metrics, evaluate

AT = (1, 3, 5, 10)


def back_off_codes(model: Model, codes: list[str], chapters: bool) -> list[str]:
    """Codes that siblings can stand in for; without `chapters`, only siblings of the same category."""
    found = {code: model.back_off.siblings(code) for code in codes}
    return [code for code, one in found.items() if one and (chapters or "@" not in one.heading)]


def measured(model: Model, cohort: Cohort) -> Metrics:
    """The metrics over stays that the model, extended or not, can all answer."""
    seen = project(cohort, model.diagnoses.vocabulary, model.procedures.vocabulary).cohort
    return evaluate(model.scorer.scores, stay_rows(model.scorer, seen), seen.procedures, AT)


def popularity(model: Model, cohort: Cohort) -> Metrics:
    """The most frequent procedures for every stay."""
    counts = np.array(model.files.procedure_counts, np.float32)
    seen = project(cohort, cohort.diagnosis_vocabulary, model.procedures.vocabulary).cohort
    return evaluate(lambda rows: np.tile(counts, (len(rows), 1)), seen.diagnoses, seen.procedures, AT)


def known(rows: Ragged, own: list[str], vocabulary: set[str]) -> np.ndarray:
    """How many codes of each stay the model has."""
    has = np.array([code in vocabulary for code in own])
    return np.bincount(rows.row_of_entry, has[rows.values], len(rows))


def cells(found: Metrics, base: Metrics | None) -> list[str]:
    """F1 at each L, with the paired difference to the base."""
    texts = []
    for place, L in enumerate(AT):
        text = f"{found.mean('f1')[L]:.2f}"
        if base is not None:
            gain = 100 * (found.f1 - base.f1)[:, place]
            text += f" ({gain.mean():+.2f} ± {1.96 * gain.std() / len(gain) ** 0.5:.2f})"
        texts.append(text)
    return texts


def compare(model: Model, narrow: Cohort, wide: Cohort) -> list[list[str]]:
    """Rows of the table for one model."""
    own, name = wide.diagnosis_vocabulary.codes, model.files.method
    vocabulary, procedures = set(model.files.diagnoses), set(model.files.procedures)
    new = [code for code in own if code not in vocabulary]
    deep, near = (model.extended(back_off_codes(model, new, chapters)) for chapters in (True, False))
    learned_ids = narrow.stay_ids
    test_ids = learning_part(model.files, narrow, "test").stay_ids
    counted = known(wide.diagnoses, own, vocabulary)
    usable = known(wide.procedures, wide.procedure_vocabulary.codes, procedures) > 0
    answerable = known(wide.diagnoses, own, set(deep.files.diagnoses)) > 0
    tested = pc.is_in(wide.stay_ids, test_ids.combine_chunks()).to_numpy()
    learned = pc.is_in(wide.stay_ids, learned_ids.combine_chunks()).to_numpy()
    some = wide.subset(np.flatnonzero(tested & usable & (counted > 0) & (counted < wide.diagnoses.lengths)))
    none = wide.subset(np.flatnonzero(~learned & usable & (counted == 0) & answerable))
    base, poor = measured(model, some), popularity(model, none)
    return [
        [name, f"{len(some):,} stays, some codes new", "dropped", *cells(base, None)],
        [name, "", "same category", *cells(measured(near, some), base)],
        [name, "", "up to the chapter", *cells(measured(deep, some), base)],
        [name, f"{len(none):,} stays, all codes new", "popularity", *cells(poor, None)],
        [name, "", "up to the chapter", *cells(measured(deep, none), poor)],
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--narrow", required=True, type=Path)
    parser.add_argument("--wide", required=True, type=Path)
    options = parser.parse_args()
    narrow, wide = Cohort.load(options.narrow), Cohort.load(options.wide)
    print(f"| model | stays | new codes are | {' | '.join(f'F1@{L}, %' for L in AT)} |")
    print("|---" * (3 + len(AT)) + "|")
    for path in options.models:
        for row in compare(Model.load(path), narrow, wide):
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
