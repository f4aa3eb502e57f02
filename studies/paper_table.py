"""What the paper prints, examined: its Table 1 against itself, and three of its sentences against our cohorts.

Run: python studies/paper_table.py [--write docs/paper.md] [--cohorts COHORT…]
The printed figures are those of experiments/luo2019_*.toml, ours those of the runs kept under results/. With --write,
the tables of docs/paper.md are made again; a test fails where they differ. With --cohorts, the cohort files are
examined too: how many codes end below the threshold, and whether procedures per stay look exponential.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from codes_per_stay import distance, exponential
from dx2px.cohort import Cohort, describe
from dx2px.lab.benchmark import Row, rows_of
from dx2px.lab.benchmark.markdown import COLUMNS, NAMES
from dx2px.lab.benchmark.tables import AT
from dx2px.lab.blocks import with_blocks
from dx2px.lab.experiment import load_experiment
from dx2px.lab.published import RANKS, Cells, hit_rates, nearness, rises
from dx2px.lab.recipe import load_recipe
from dx2px.lab.tables import table
from dx2px.storage import write_text

ROOT = Path(__file__).parents[1]
SIZES = ("small", "medium", "large")
PRINTED = 0.15  # no 90 % interval is wider, the paper says
FIELDS = 8  # for procedures in a record of NHDS: a stay with that many may have had more


def published(size: str) -> dict[str, Cells]:
    """The paper's Table 1 for one set, by method."""
    recipe = load_recipe(ROOT / "experiments" / f"luo2019_{size}.toml")
    return {method: dict(zip(COLUMNS, values, strict=True)) for method, values in recipe.published.items()}


def measured(group: str) -> dict[str, dict[str, Row]]:
    """Our rows of the paper's methods, by cohort and method, from the kept runs."""
    experiment = load_experiment(ROOT / "experiments" / "results.toml")
    methods = published("small").keys()
    found: dict[str, dict[str, Row]] = {}
    for row in rows_of(experiment.jobs(group, Path(), ROOT / "results")):
        if row.method in methods:
            found.setdefault(row.cohort, {})[row.method] = row
    return found


def means(row: Row) -> Cells:
    return {column: cell.mean for column, cell in row.cells.items()}


def ranks_markdown(paper: Mapping[str, Mapping[str, Cells]], ours: Mapping[str, Mapping[str, Cells]]) -> str:
    """Hit rates by rank of every method, the paper's beside ours; a rise is bold."""
    lines = [
        [size, method, ranks(cells, rounded=True), ranks(ours[f"nhds_{size}"][method], rounded=False)]
        for size, methods in paper.items()
        for method, cells in methods.items()
    ]
    of = f"ranks {', '.join(RANKS)}"
    return table(["set", "method", f"the paper, {of}, %", f"NHDS, {of}, %"], lines)


def ranks(cells: Cells, rounded: bool) -> str:
    """The hit rates in one line, rises bold."""
    rates = hit_rates(cells)
    higher = rises(rates, rounded)
    return " · ".join(f"**{rate:.1f}**" if at in higher else f"{rate:.1f}" for at, rate in rates.items())


def rising(methods: Mapping[str, Cells], rounded: bool = True) -> str:
    """How many methods have a rise."""
    return f"{sum(bool(rises(hit_rates(cells), rounded)) for cells in methods.values())} of {len(methods)}"


def ahead(methods: Mapping[str, Cells], method: str, other: str) -> tuple[int, int]:
    """In how many of the twelve cells a method is above and below another."""
    differences = [round(methods[method][c] - methods[other][c], 1) for c in COLUMNS]
    return sum(d > 0 for d in differences), sum(d < 0 for d in differences)


def nearest_markdown(
    paper: Mapping[str, Mapping[str, Cells]], ours: Mapping[str, Mapping[str, Cells]]
) -> str:
    """The printed cells that come nearer to the bound than any of ours."""
    most = max(nearness(cells, L) for methods in ours.values() for cells in methods.values() for L in AT)
    lines = [
        [size, method, L, *(f"{cells[L, name]:.1f}" for name in NAMES), f"{nearness(cells, L):.3f}"]
        for size, methods in paper.items()
        for method, cells in methods.items()
        for L in AT
        if nearness(cells, L) > most
    ]
    lines.append(["ours", "the nearest of all", "", "", "", "", f"{most:.3f}"])
    return table(["set", "method", "L", *NAMES.values(), "F1 / harmonic mean"], lines, right=5)


def attention_markdown(tables: Mapping[str, Mapping[str, Cells]]) -> str:
    """Cells above and below E+Pooling, for each kind of attention."""
    lines = []
    for name, methods in tables.items():
        cells = (
            "{} / {}".format(*ahead(methods, method, "e+pooling")) for method in ("e+sa", "e+ma", "e+sa+ma")
        )
        lines.append([name, *cells])
    return table(["set", "E+SA", "E+MA", "E+SA+MA"], lines, right=3)


def apart_markdown(tables: Mapping[str, Mapping[str, Cells]]) -> str:
    """How far DWL is above or below Word2Vec: in F1, and the most in any of the twelve cells."""
    lines = []
    for name, methods in tables.items():
        apart = {column: methods["dwl"][column] - methods["word2vec"][column] for column in COLUMNS}
        most = max(apart.values(), key=abs)
        lines.append([name, *(f"{apart[L, 'f1']:+.1f}" for L in AT), f"{most:+.1f}"])
    return table(["set", *(f"F1@{L}" for L in AT), "the most of 12 cells"], lines, right=5)


def intervals_markdown(cohorts: Mapping[str, Mapping[str, Row]]) -> str:
    """Half of the 90 % interval of F1@1 over ten folds, and how many of the twelve cells are wider than printed."""
    methods = list(next(iter(cohorts.values())))
    lines = [[method, *(interval(rows[method]) for rows in cohorts.values())] for method in methods]
    return table(["method", *cohorts], lines, right=len(cohorts))


def interval(row: Row) -> str:
    widths = {column: cell.half_width for column, cell in row.cells.items() if cell.half_width is not None}
    if not widths:
        return "one fold"
    return f"± {widths['1', 'f1']:.2f} ({sum(width > PRINTED for width in widths.values())})"


def exponential_markdown(histograms: Mapping[str, tuple[Sequence[int], int | None]]) -> str:
    lines = []
    for name, (histogram, most) in histograms.items():
        found = exponential(histogram, most)
        observed = ", ".join(f"{ratio:.2f}" for ratio in found.ratios)
        lines.append(
            [
                name,
                f"{found.stays:,}",
                f"{found.ratio:.2f}",
                observed,
                f"{100 * found.misplaced:.1f}",
                f"{found.shape:.2f}",
                f"{found.statistic:,.0f}",
            ]
        )
    head = ["cohort", "stays", "fitted ratio", "observed ratios of n + 1 to n, n = 1, 2, …"]
    return table([*head, "misplaced, %", "shape r", "χ²"], lines)


def stability_markdown(kept: Mapping[str, Mapping[str, Mapping[str, Sequence[int]]]]) -> str:
    """How much the histograms of two sets differ, per kind of code."""
    names = list(kept)
    lines = []
    for first, second in ((a, b) for n, a in enumerate(names) for b in names[n + 1 :]):
        shifts = [
            f"{100 * distance(kept[first][kind]['histogram'], kept[second][kind]['histogram']):.1f}"
            for kind in ("procedures", "diagnoses")
        ]
        lines.append([f"{first}, {second}", *shifts])
    return table(["sets", "procedures per stay, %", "diagnoses per stay, %"], lines, right=2)


def kept_summaries(group: str) -> dict[str, dict[str, dict[str, list[int]]]]:
    """The kept summaries of a group's cohorts."""
    record = json.loads((ROOT / "results" / "cohorts" / "cohorts.json").read_text(encoding="utf-8"))
    return {name: one["summary"] for name, one in record.items() if name.startswith(group)}


def blocks() -> dict[str, str]:
    """Every table of docs/paper.md, from the paper's figures and the kept runs alone."""
    paper = {size: published(size) for size in SIZES}
    nhds = measured("nhds")
    ours = {name: {m: means(row) for m, row in rows.items()} for name, rows in nhds.items()}
    synthetic = {
        name: {m: means(row) for m, row in rows.items()} for name, rows in measured("synthetic").items()
    }
    return {
        "ranks": ranks_markdown(paper, ours),
        "rising": rising_markdown(paper, ours | synthetic),
        "nearest": nearest_markdown(paper, ours | synthetic),
        "attention": attention_markdown(paper | ours),
        "apart": apart_markdown(paper | ours),
        "intervals": intervals_markdown(nhds),
        "exponential": exponential_markdown(
            {
                name: (summary["procedures"]["histogram"], FIELDS)
                for name, summary in kept_summaries("nhds").items()
            }
        ),
        "stability": stability_markdown(kept_summaries("nhds")),
    }


def rising_markdown(paper: Mapping[str, Mapping[str, Cells]], ours: Mapping[str, Mapping[str, Cells]]) -> str:
    lines = [[f"the paper, {name}", rising(methods)] for name, methods in paper.items()]
    lines += [[name, rising(methods, rounded=False)] for name, methods in ours.items()]
    return table(["set", "methods with a rise"], lines, right=1)


def thresholds(paths: Sequence[Path]) -> Iterator[list[object]]:
    """Of each cohort file: the threshold it was made with, and the codes that fewer stays have."""
    for path in paths:
        cohort = Cohort.load(path)
        count = int(cohort.provenance["settings"]["min_count"])
        short = [
            f"{int((np.bincount(stays.values, minlength=1) < count).sum())} of {stays.values.max() + 1:,}"
            for stays in (cohort.diagnoses, cohort.procedures)
        ]
        yield [path.stem, count, f"{len(cohort):,}", *short]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", type=Path)
    parser.add_argument("--cohorts", nargs="+", type=Path, default=[])
    given = parser.parse_args()
    made = blocks()
    if given.write is not None:
        write_text(given.write, with_blocks(given.write.read_text(encoding="utf-8"), made))
    else:
        for name, text in made.items():
            print(f"{name}\n\n{text}")
    if given.cohorts:
        head = ["cohort", "minimum count", "stays", "diagnoses below it", "procedures below it"]
        print(table(head, thresholds(given.cohorts)))
        histograms = {
            path.stem: describe(Cohort.load(path), 0).procedures.histogram for path in given.cohorts
        }
        print(exponential_markdown({name: (one, None) for name, one in histograms.items()}))


if __name__ == "__main__":
    main()
