"""Do the vectors help elsewhere? What became of a stay, predicted by a linear model of its diagnoses' vectors.

Run: python studies/embeddings.py nhds_medium.parquet --raw NHDS10.sample.txt.bz2 [--models FOLDER] [--draws 5]
         [--out results/embeddings.json]
     python studies/embeddings.py --write docs/embeddings.md     (the page and the figure from the kept runs)
80/20 by stay (split seed 0). Vectors are learned from nine tenths of the 80 %, without the outcomes; linear models from
100 to 50,000 stays of the 80 %; both are tested on the 20 %. Outcomes are fields of the survey's records that no model
of dx2px reads. Runs are kept, so an interrupted study goes on where it stopped.
"""

from __future__ import annotations

import argparse
import bz2
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score

from dx2px import Cohort
from dx2px.cohort.splits import split_cohort
from dx2px.lab.blocks import with_blocks
from dx2px.lab.tables import table
from dx2px.ragged import Ragged
from dx2px.report.figures import save_figure
from dx2px.storage import write_text
from kept import Record, kept
from neighbours import files_of
from ridge import Floats, ridge

ROOT = Path(__file__).parents[1]
OUT = ROOT / "results" / "embeddings.json"
FIGURE = ROOT / "docs" / "pictures" / "embeddings.png"
SIZES = (100, 300, 1_000, 3_000, 10_000, 50_000)
LEARNED = ("word2vec", "bpr", "dwl", "gwl", "e+pooling", "e+sa", "e+ma", "e+sa+ma", "coupling")
SETS = ("one-hot", "headings", "random", "svd", *LEARNED)
DRAWN = tuple(
    name for name in SETS if name not in ("dwl", "gwl", "e+sa", "e+ma")
)  # all would hide each other
DIM = 200
STATUS, DAYS, DRG = slice(11, 12), slice(12, 16), slice(138, 141)  # of a record; see docs/data.md
HOME, FACILITIES, DIED = "1", ("3", "4"), "6"  # left on own wish, alive but unknown, not stated: left out
HEADING = len("icd9cm:428")
GROUPS = 100  # the most frequent DRGs
TASKS = {
    "died": "died in hospital, area under the ROC curve, %",
    "facility": "went to another facility, area under the ROC curve, %",
    "long": "stayed longer than the median, area under the ROC curve, %",
    "drg": f"DRG, of the {GROUPS} most frequent, right, %",
}
COLOURS = ("#000000", "#666666", "#AAAAAA", "#999933", "#56B4E9", "#009E73", "#E69F00", "#CC79A7", "#0072B2")
MARKS = "sPxv^<>Do"


@dataclass(frozen=True)
class Outcomes:
    """What became of the stays."""

    died: NDArray[np.bool_]
    facility: NDArray[np.bool_]
    days: NDArray[np.int64]
    drg: NDArray[np.str_]
    known: NDArray[np.bool_]  # whether the record says how the stay ended

    def take(self, rows: NDArray[np.int64]) -> Outcomes:
        return Outcomes(*(getattr(self, name)[rows] for name in self.__annotations__))


def read_outcomes(path: Path, lines: NDArray[np.int64]) -> Outcomes:
    """Those of the records with these numbers, from 1."""
    with bz2.open(path, "rt", encoding="ascii") as file:
        fields = [(line[STATUS], int(line[DAYS]), line[DRG]) for line in file]
    status, days, drg = (np.array(column) for column in zip(*fields, strict=True))
    all_ = Outcomes(
        status == DIED, np.isin(status, FACILITIES), days, drg, np.isin(status, [HOME, *FACILITIES, DIED])
    )
    return all_.take(lines - 1)


@dataclass(frozen=True)
class Data:
    """The stays whose end is known: their diagnoses, what to predict, and which of them are for learning."""

    diagnoses: Ragged
    Y: Floats  # died, facility, long, then one column for each DRG
    learning: NDArray[np.int64]
    test: NDArray[np.int64]


def load(cohort: Cohort, raw: Path) -> Data:
    found = read_outcomes(raw, np.array([int(name) for name in cohort.stay_ids.to_pylist()]))
    split = split_cohort(cohort)
    learning, test = (part[found.known[part]] for part in (split.learning, split.test))
    median = np.median(found.days[learning])
    frequent = [drg for drg, _ in Counter(found.drg[learning].tolist()).most_common(GROUPS)]
    columns = [found.died, found.facility, found.days > median, *(found.drg == drg for drg in frequent)]
    shares = ", ".join(f"{100 * column[test].mean():.1f} %" for column in columns[:3])
    print(
        f"{len(learning):,} stays to learn from, {len(test):,} to test; {len(cohort) - len(learning) - len(test):,}"
    )
    print(f"do not say how they ended. Died, facility, longer than {median:g} days: {shares}.")
    print(
        f"The {GROUPS} DRGs cover {100 * np.isin(found.drg[test], frequent).mean():.1f} % of the test stays.\n"
    )
    return Data(cohort.diagnoses, np.stack(columns, 1).astype(float), learning, test)


def vectors(cohort: Cohort, data: Data, name: str, models: Path | None) -> Floats:
    """A vector for each diagnosis."""
    codes = cohort.diagnosis_vocabulary.codes
    if name == "one-hot":
        return np.eye(len(codes))
    if name == "headings":
        places = np.unique([code[:HEADING] for code in codes], return_inverse=True)[1]
        return np.eye(places.max() + 1)[places]
    if name == "random":
        return np.random.default_rng(0).standard_normal((len(codes), DIM))
    if name == "svd":
        return together(data.diagnoses.take(data.learning), len(codes))
    files = files_of(cohort, name, None if models is None else models / name, 0)
    return np.asarray(files.arrays["U"], float)


def together(stays: Ragged, codes: int) -> Floats:
    """The first singular vectors of the matrix of stays and diagnoses, scaled by their singular values."""
    X = csr_array((np.ones(len(stays.values)), stays.values, stays.offsets), shape=(len(stays), codes))
    values, axes = np.linalg.eigh((X.T @ X).toarray())
    return axes[:, -DIM:] * np.sqrt(np.maximum(values[-DIM:], 0))


def features(stays: Ragged, U: Floats) -> Floats:
    """The mean vector of each stay's diagnoses, scaled to a total variance of 1, and the number of diagnoses."""
    shares = np.repeat(1 / stays.lengths, stays.lengths)
    X = csr_array((shares, stays.values, stays.offsets), shape=(len(stays), len(U))) @ U
    X /= np.sqrt(X.var(0).sum())
    counts = np.log(stays.lengths)
    return np.column_stack([X, counts / counts.std()])


def score(X: Floats, data: Data, size: int, draw: int) -> Record:
    """Learn from some stays, test on all of the test part."""
    rows = np.random.default_rng(draw).permutation(data.learning)[:size]
    binary = [slice(n, n + 1) for n in range(3)]
    fitted = ridge(X[rows], data.Y[rows], (*binary, slice(3, None)))
    predicted, truth = fitted.predict(X[data.test]), data.Y[data.test]
    areas = [100 * float(roc_auc_score(truth[:, n], predicted[:, n])) for n in range(3)]
    grouped = truth[:, 3:].any(1)
    right = predicted[grouped, 3:].argmax(1) == truth[grouped, 3:].argmax(1)
    return dict(zip(TASKS, [*areas, 100 * float(right.mean())], strict=True))


def run(cohort: Cohort, data: Data, models: Path | None, draws: int, out: Path) -> None:
    for name in SETS:
        names = [(f"{name}/{size}/draw {draw}", size, draw) for size in SIZES for draw in range(draws)]
        if out.is_file() and not {key for key, *_ in names} - json.loads(out.read_text()).keys():
            continue
        X = features(data.diagnoses, vectors(cohort, data, name, models))
        for key, size, draw in names:
            found = kept(out, key, partial(score, X, data, size, draw))
            print(key, " ".join(f"{task} {value:.1f}" for task, value in found.items()), flush=True)


def curves(records: Mapping[str, Record]) -> dict[str, dict[str, dict[int, list[float]]]]:
    """Task, set of vectors, number of stays: the value of each draw."""
    found: dict[str, dict[str, dict[int, list[float]]]] = {
        task: {name: {} for name in SETS} for task in TASKS
    }
    for key, record in records.items():
        name, size, _ = key.split("/")
        for task, value in record.items():
            found[task][name].setdefault(int(size), []).append(value)
    return found


def blocks(records: Mapping[str, Record]) -> dict[str, str]:
    """A table for each outcome: mean over the draws ± their standard deviation, the best of a column bold."""
    made = {}
    for task, by_set in curves(records).items():
        best = {size: max(np.mean(some[size]) for some in by_set.values()) for size in SIZES}
        lines = ([name, *cells(some, best)] for name, some in by_set.items())
        head = ["vectors", *(f"{size:,} stays" for size in SIZES)]
        made[task] = f"{TASKS[task][0].upper()}{TASKS[task][1:]}:\n\n{table(head, lines, right=len(SIZES))}"
    return made


def cells(by_size: Mapping[int, list[float]], best: Mapping[int, float]) -> Iterator[str]:
    for size in SIZES:
        mean = np.mean(by_size[size])
        text = f"{mean:.1f}"
        mark = "**" if text == f"{best[size]:.1f}" else ""
        yield f"{mark}{text}{mark} ± {np.std(by_size[size], ddof=1):.1f}"


def save(records: Mapping[str, Record], path: Path) -> None:
    """The same as a figure: a panel for each outcome."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 7), layout="constrained")
    for axes, (task, by_set) in zip(figure.subplots(2, 2).flat, curves(records).items(), strict=True):
        for name, colour, mark in zip(DRAWN, COLOURS, MARKS, strict=True):
            means = [np.mean(by_set[name][size]) for size in SIZES]
            style = "-" if name in LEARNED else "--"
            axes.plot(SIZES, means, style, color=colour, marker=mark, markersize=4, linewidth=1.2, label=name)
        axes.set_xscale("log")
        axes.set_title(TASKS[task].replace(", ", "\n", 1), fontsize=9)
        axes.set_xlabel("stays with a known outcome", fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(DRAWN), frameon=False, fontsize=8)
    save_figure(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cohort", type=Path, nargs="?")
    parser.add_argument("--raw", type=Path)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    if given.cohort is not None:
        if given.raw is None:
            parser.error("--raw must name the file of the survey that the cohort was prepared from")
        cohort = Cohort.load(given.cohort)
        run(cohort, load(cohort, given.raw), given.models, given.draws, given.out)
    if given.write is not None:
        records = json.loads(given.out.read_text(encoding="utf-8"))
        write_text(given.write, with_blocks(given.write.read_text(encoding="utf-8"), blocks(records)))
        save(records, FIGURE)


if __name__ == "__main__":
    main()
