"""How near do answers by candidates come to those of the full computation, and what do they cost?

Run: python studies/candidates.py COHORT.parquet [MODEL] [--stays 400] [--times 112] [--zipf 1.5] [--spread 0.3]
No public cohort has tens of thousands of procedures. So each procedure of a model becomes `times` procedures, with
vectors around its own (`spread`: how far, against the deviation of all): they share what it has in the proportions 1,
1/2^zipf, 1/3^zipf …, in random order. Their heads hear the most common ones (`fit_head.HEARD`). The stays are
validation stays of the model's own cohort, with their evidence; then again with a half of their procedures coded.
The first table asks how long the lists of the rows must be: which of the true ten best are on the lists of a stay's
rows. The second compares the answers: places of the best that have the same procedure, differences of probabilities (of
the true ten best, as for a whole stay and as for a question) and of significance, and the time of an answer. The third
asks what it costs that heads hear the common procedures alone: heads are fitted to 15,000 training stays of the model
itself, on scores without dropout, and measured on 5,000 validation stays.
MODEL is a folder or a name, by default the model inside the package. docs/scale.md has the numbers.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dx2px import Cohort, Model
from dx2px.answers.shipped import model_path
from dx2px.cohort import Split
from dx2px.cohort.projection import project
from dx2px.ragged import Ragged
from dx2px.scoring.alternatives import Alternatives
from dx2px.scoring.calibration import Calibration, sigmoid
from dx2px.scoring.candidates import Candidates
from dx2px.scoring.cohort_evidence import known_of, stay_rows
from dx2px.scoring.correction import ASKED
from dx2px.scoring.coupling import CouplingScorer
from dx2px.scoring.folder import ModelFiles
from dx2px.scoring.head import Head
from dx2px.scoring.measured import learned_from, validation_fold
from dx2px.scoring.methods import METHODS
from dx2px.scoring.ranking import top_l
from dx2px.scoring.segments import Doubles, Floats
from dx2px.training import fit_head
from dx2px.training.fit_calibration import log_loss, slope_and_shift

LENGTHS = (32, 64, 100, 150, 200)
HEADINGS = (
    "| stays | ten best | twenty | probability of a whole stay: mean · 99 % · most, points | of a question "
    "| significance | scored | full, ms | few, ms |"
)
ROUNDED = 2e-5  # scores that differ less may change places by rounding


@dataclass(frozen=True, eq=False)
class Growth:
    """A model with `times` procedures in the place of each."""

    files: ModelFiles
    likeliest: NDArray[np.int64]  # for each procedure of the model, the likeliest of the new ones

    @classmethod
    def of(cls, files: ModelFiles, times: int, zipf: float, spread: float) -> Growth:
        rng, size = np.random.default_rng(0), len(files.procedures)
        parent, layout = np.repeat(np.arange(size), times), METHODS[files.method].all_arrays
        arrays = {
            name: np.take(array, parent, layout[name].index("procedure"))
            if "procedure" in layout[name]
            else array
            for name, array in files.arrays.items()
        }
        shares = 1 / np.arange(1, times + 1) ** zipf
        parts = np.stack([rng.permutation(np.log(shares / shares.sum())) for _ in range(size)])
        likeliest = np.arange(size) * times + parts.argmax(axis=1)
        V = arrays["V"]
        arrays["V"] = (V + rng.normal(0, spread * V.std(), V.shape)).astype(np.float32)
        arrays["b"] = (arrays["b"] + parts.reshape(-1)).astype(np.float32)
        stage = _grown_heads(files.calibration, parent, parts.reshape(-1), arrays["b"])
        pairs = Alternatives(likeliest[stage.alternatives.pairs])
        codes = tuple(f"icd10pcs:{place:07d}" for place in range(len(parent)))
        own = {
            "procedures": codes,
            "procedure_counts": None,
            "calibration": replace(stage, alternatives=pairs),
        }
        return cls(replace(files, arrays=arrays, **own), likeliest)


def _grown_heads(
    stage: Calibration | None, parent: NDArray[np.int64], parts: Doubles, levels: Floats
) -> Calibration:
    """Each new procedure has the numbers of the old one; heads hear the likeliest, whose roots share what they were."""
    if stage is None or stage.head is None:
        raise SystemExit("This study needs a model with a head.")
    arrays = {name: array if name == ASKED else array[parent] for name, array in stage.arrays.items()}
    rare = np.argsort(-levels)[fit_head.HEARD :]
    for name in [name for name in arrays if name.endswith("_W")]:
        arrays[name] = arrays[name] * np.exp(parts / 2).astype(np.float32)[:, None]
        arrays[name][rare] = 0
    return stage.with_arrays(arrays)


@dataclass(frozen=True, eq=False)
class Answer:
    """What an answer to a single stay is made of."""

    scores: Floats  # (p,)
    weights: Floats
    best: NDArray[np.int64]
    calibration: Calibration
    likely: Doubles  # (1, p) before alternatives

    @classmethod
    def of(cls, scorer: CouplingScorer, stage: Calibration | None, stay: Ragged, members: Ragged) -> Answer:
        assert stage is not None
        scores, weights = scorer.scores(stay), scorer.significance(stay)
        found = cls(
            scores[0], weights, top_l(scores, 20)[0].astype(np.int64), stage, stage.unlimited(scores, members)
        )
        found.of_question(found.best)
        return found

    def of_question(self, procedures: NDArray[np.int64]) -> Doubles:
        found: Doubles = self.calibration.limited(self.likely, procedures[None])[0]
        return found

    def of_stay(self, procedures: NDArray[np.int64]) -> Doubles:
        found: Doubles = self.calibration.probability(self.scores[None], procedures[None])[0]
        return found


@dataclass
class Found:
    """What a comparison has found so far, stay by stay."""

    same: dict[int, list[float]] = field(default_factory=lambda: {10: [], 20: []})
    differences: dict[str, list[Doubles]] = field(default_factory=lambda: {"of_stay": [], "of_question": []})
    weights: list[Doubles] = field(default_factory=list)  # of significance
    scored: list[int] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=lambda: {"full": 0.0, "few": 0.0})

    def compare(self, few: Candidates, stay: Ragged, members: Ragged) -> None:
        """One stay, answered both ways."""
        few.narrowed(stay)  # makes its lists, which is not timed
        start = time.process_time()
        full = Answer.of(few.scorer, few.calibration, stay, members)
        middle = time.process_time()
        narrow = few.narrowed(stay)
        own = Answer.of(narrow.scorer, narrow.calibration, stay, members)
        for name, seconds in (("full", middle - start), ("few", time.process_time() - middle)):
            self.seconds[name] += seconds
        codes = narrow.chosen.codes
        self.scored.append(len(codes))
        self.weights.append(np.abs(full.weights - own.weights))
        apart = np.abs(full.scores[codes[own.best]] - full.scores[full.best]) > ROUNDED
        for size, found in self.same.items():
            found.append(1 - float(apart[:size].mean()))
        places = narrow.chosen.places(full.best[:10])
        shown = full.best[:10][places >= 0], places[places >= 0]
        for name, found in self.differences.items():
            theirs, ours = (getattr(one, name)(some) for one, some in zip((full, own), shown, strict=True))
            found.append(np.abs(theirs - ours))

    def line(self, name: str) -> str:
        """As a row of the table."""
        differences = (
            _spread(100 * np.concatenate(some)) for some in (*self.differences.values(), self.weights)
        )
        same = (f"{np.mean(some):.2%}" for some in self.same.values())
        times = (f"{1e3 * seconds / len(self.scored):.2f}" for seconds in self.seconds.values())
        return " | ".join(["", name, *same, *differences, f"{np.mean(self.scored):,.0f}", *times, ""]).strip()


def _spread(differences: Doubles) -> str:
    return f"{differences.mean():.2f} · {np.quantile(differences, 0.99):.2f} · {differences.max():.2f}"


def listed(few: Candidates, stays: list[Ragged]) -> tuple[float, float]:
    """The share of the true ten best on the lists of their stay's rows, and how many procedures these are."""
    shares, sizes = [], []
    for stay in stays:
        on_lists = np.unique(few.listed(stay.values))
        shares.append(np.isin(top_l(few.scorer.scores(stay), 10)[0], on_lists).mean())
        sizes.append(len(on_lists))
    return float(np.mean(shares)), float(np.mean(sizes))


def some_stays(model: Model, cohort: Cohort, number: int, learned: bool = False) -> Cohort:
    """Some of the stays that the model was validated on, or of those that it learned from."""
    if not learned_from(model.files, cohort) or model.files.split is None:
        raise SystemExit("This study needs the cohort that the model learned from.")
    split, fold = Split.from_bytes(model.files.split), validation_fold(model.files)
    rows = split.training(fold) if learned else split.validation(fold)
    some = cohort.subset(np.random.default_rng(0).permutation(rows)[:number])
    return project(some, model.diagnoses.vocabulary, model.procedures.vocabulary).cohort


def heads(model: Model, cohort: Cohort) -> None:
    """The third table."""
    stage = model.files.calibration
    if stage is None:
        raise SystemExit("This study needs a model with probabilities.")
    lessons, tests = some_stays(model, cohort, 15_000, learned=True), some_stays(model, cohort, 5_000)
    eta, z = (stage.pooled(model.scorer.scores(stay_rows(model.scorer, stays))) for stays in (lessons, tests))
    coded = tests.procedures.indicator(z.shape[1])
    print("\n| heads hear | of the coded procedures | log loss per stay |\n|---|---|---|")
    print(f"| no head | | {log_loss(sigmoid(z), coded) / len(tests):.3f} |", flush=True)
    counts = np.sort(np.bincount(lessons.procedures.values, minlength=z.shape[1]))[::-1]
    fit_head.MANY = 0
    for heard in (10, 30, 100, z.shape[1]):
        fit_head.HEARD = heard
        start = Head.of(fit_head.fit_head(eta.astype(np.float32), lessons.procedures))
        slope, shift = slope_and_shift(start.own(z), coded)
        p = sigmoid(replace(start, slope=slope, shift=shift).log_odds(z))
        share = counts[:heard].sum() / counts.sum()
        print(f"| {heard} | {share:.0%} | {log_loss(p, coded) / len(tests):.3f} |", flush=True)


def single(rows: Ragged) -> list[Ragged]:
    """Each row by itself."""
    return [rows.take([row]) for row in range(len(rows))]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cohort", type=Path)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--stays", type=int, default=400)
    parser.add_argument("--times", type=int, default=112)
    parser.add_argument("--zipf", type=float, default=1.5)
    parser.add_argument("--spread", type=float, default=0.3)
    arguments = parser.parse_args()
    model = Model.load(model_path(arguments.model))
    cohort = Cohort.load(arguments.cohort)
    stays = some_stays(model, cohort, arguments.stays)
    growth = Growth.of(model.files, arguments.times, arguments.zipf, arguments.spread)
    scorer, V = growth.files.scorer(), growth.files.arrays["V"]
    if not isinstance(scorer, CouplingScorer) or scorer.layout is None:
        raise SystemExit("This study needs a model of the default method with evidence.")
    rows = scorer.layout.rows(stays.diagnoses, known_of(scorer.layout, stays))
    halves = [
        growth.likeliest[own[: (len(own) + 1) // 2]]
        for own in map(stays.procedures.__getitem__, range(len(stays)))
    ]
    kinds = {"none coded": rows, "half coded": scorer.layout.with_coded(rows, Ragged.from_lists(halves))}
    print(f"{len(stays):,} stays, {len(V):,} procedures\n")
    print("| lists of | the ten best on them | procedures on the lists of a stay |\n|---|---|---|")
    for length in LENGTHS:
        share, size = listed(Candidates(scorer, V, None, length), single(rows))
        print(f"| {length} | {share:.2%} | {size:,.0f} |", flush=True)
    print(f"\n{HEADINGS}\n" + "|---" * HEADINGS.count(" | ") + "|---|")
    few = Candidates(scorer, V, growth.files.calibration)
    for name, some in kinds.items():
        found = Found()
        for stay, members in zip(single(some), single(stays.diagnoses), strict=True):
            found.compare(few, stay, members)
        print(found.line(name), flush=True)
    heads(model, cohort)


if __name__ == "__main__":
    main()
