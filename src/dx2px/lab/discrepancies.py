"""Measured rows against published ones, cell by cell, with what each difference could come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dx2px.lab.benchmark import Row
from dx2px.lab.benchmark.markdown import COLUMNS, NAMES
from dx2px.lab.published import RANKS, Cells, hit_rates, nearness, rises
from dx2px.lab.recipe import Recipe
from dx2px.lab.set_sizes import SetSize
from dx2px.lab.tables import table

INTERVAL = 0.15  # the paper's intervals are no wider, it says
ROUNDING = 0.05
SAME = 0.01  # sets whose numbers differ by no more count as the paper's
ODD_F1 = 0.97  # an F1 this near to the harmonic mean of the means is hardly a mean over stays
PAPER = ("e+pooling", "e+sa", "e+ma", "e+sa+ma")
BASELINES = ("word2vec", "bpr", "dwl", "gwl")
REASONS = {
    "n": "the set is not the paper's: one of its three numbers differs by more than 1 %",
    "r": "the printed figures themselves: lower ranks hit more often than these, which a ranking by score does not do",
    "f": "the printed F1 itself: it lies at the harmonic mean of the printed recall and precision, or above it",
    "v": "how vectors start, which the paper does not say (docs/reproduction.md: it decides the order of methods)",
    "b": "what the paper leaves open of a baseline: settings, negatives, the rule of scoring (docs/baselines.md)",
    "p": "max pooling, as the list of variants says, or mean pooling, which the text mentions first",
    "s": "settings that validation chose, where the row is tuned, instead of the printed ones",
}


@dataclass(frozen=True)
class SetReport:
    """One set: what is published of it, how large it came out under each reading, and the measured rows."""

    recipe: Recipe
    used: SetSize
    sizes: Mapping[str, SetSize]  # by reading
    rows: Sequence[Row]


@dataclass(frozen=True)
class Difference:
    """A cell, measured and published."""

    measured: float
    published: float
    noise: float  # what chance and rounding explain, on both sides
    reasons: str  # letters of REASONS

    @property
    def points(self) -> float:
        """Measured minus published."""
        return self.measured - self.published

    @property
    def explained(self) -> bool:
        """Whether it is no more than noise."""
        return abs(self.points) <= self.noise

    def __str__(self) -> str:
        why = "=" if self.explained else self.reasons
        return f"{self.measured:.1f} ({self.points:+.1f} {why})".replace("-", "−")


def differences(report: SetReport, row: Row) -> dict[tuple[str, str], Difference]:
    """Every cell of a row, where its method is published; a tuned row is held against the method's printed one."""
    method, _, remark = row.method.partition(", ")
    printed = report.recipe.published.get(method)
    if printed is None:
        return {}
    paper = dict(zip(COLUMNS, printed, strict=True))
    letters = "n" * (not _same_set(report)) + "s" * bool(remark)
    found = {}
    for column in COLUMNS:
        cell = row.cells[column]
        noise = (cell.half_width or 0.0) + INTERVAL + ROUNDING
        why = letters + _of_print(paper, *column) + _of_method(method)
        found[column] = Difference(cell.mean, paper[column], noise, why)
    return found


def report_markdown(reports: Sequence[SetReport]) -> str:
    """The whole report."""
    every = [d for one in reports for row in one.rows for d in differences(one, row).values()]
    parts = [
        "# Table 1, measured and published",
        "",
        "The published figures are those of Luo, Xu, Carin 2019. This page holds counts and means over stays, and no",
        "record. All numbers say how well coded procedures are predicted, and nothing about care.",
        "",
        f"Of {len(every)} cells, {sum(d.explained for d in every)} differ by no more than chance and rounding explain.",
        "",
        "## The sets",
        "",
        "Stays · diagnoses · procedures. The runs below are of the set in the row *used*.",
        "",
        _sizes_table(reports),
        *_nearest(reports),
        "",
        *(line for one in reports for line in _set_lines(one)),
        "## What the letters mean",
        "",
        "A cell shows what was measured, in brackets the difference to the published figure, in points, and what it",
        "could come from. `=`: no more than our interval, the paper's (± 0.15) and rounding together.",
        "",
        _legend(every),
    ]
    return "\n".join(parts)


def _same_set(report: SetReport) -> bool:
    printed = report.recipe.cohort
    return printed is not None and report.used.off(printed.size) <= SAME


def _of_print(paper: Cells, L: str, metric: str) -> str:
    """What the printed figures say against themselves in this cell."""
    ends = {name: str(stop) for name, (_, stop) in RANKS.items()}
    groups = list(RANKS)
    before = {ends[groups[groups.index(name) - 1]] for name in rises(hit_rates(paper))}
    return "r" * (L in before) + "f" * (metric == "f1" and nearness(paper, L) > ODD_F1)


def _of_method(method: str) -> str:
    """What is open about a method."""
    starts = method in (*PAPER, "word2vec", "bpr", "dwl")
    return "v" * starts + "b" * (method in BASELINES) + "p" * (method in ("e+pooling", "e+ma"))


def _sizes_table(reports: Sequence[SetReport]) -> str:
    readings = list(dict.fromkeys(name for one in reports for name in one.sizes))
    lines: list[Sequence[object]] = [
        ["the paper", *(one.recipe.cohort.size if one.recipe.cohort else "–" for one in reports)],
        ["used", *(one.used for one in reports)],
        *([name, *(one.sizes.get(name, "–") for one in reports)] for name in readings),
    ]
    return table(["reading", *(one.recipe.name for one in reports)], lines)


def _nearest(reports: Sequence[SetReport]) -> Iterator[str]:
    """Which reading comes nearest to the printed numbers, and how near."""
    for one in reports:
        if one.recipe.cohort is not None:
            printed = one.recipe.cohort.size
            name, size = min(one.sizes.items(), key=lambda item: item[1].off(printed))
            yield f"- {one.recipe.name}: nearest is *{name}*, at most {size.off(printed):.1%} off."


def _set_lines(report: SetReport) -> Iterator[str]:
    head = ["method", "folds", *(f"{NAMES[name]}@{L}" for L, name in COLUMNS)]
    lines = []
    for row in report.rows:
        found = differences(report, row)
        cells = (found.get(column, f"{row.cells[column].mean:.1f}") for column in COLUMNS)
        lines.append([row.method, row.folds, *cells])
    yield from (f"## {report.recipe.name}", "", table(head, lines))


def _legend(every: Sequence[Difference]) -> str:
    used = Counter(letter for d in every if not d.explained for letter in d.reasons)
    lines = ([f"`{letter}`", text, used[letter]] for letter, text in REASONS.items())
    return table(["letter", "where the difference could come from", "cells"], lines, right=1)
