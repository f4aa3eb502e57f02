"""Which method is ahead: the paired differences of a benchmark, and a summary of them, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dx2px.lab.benchmark import Comparison, Verdict, verdicts
from dx2px.lab.tables import table
from dx2px.scoring.metrics import AT

NAMES = {"recall": "recall", "precision": "precision", "f1": "F1"}
DIFFERENCES = ("cohort", "method", "compared with", "folds", "metric", *(f"@{L}" for L in AT))
AHEAD = "Cells of the table in which the method is ahead"
PAIRED = "Paired differences in points, with 90 % intervals over test stays"
VERDICTS = (
    "cohort",
    "method",
    "compared with",
    "folds",
    "ahead in",
    "interval above zero in",
    "interval below zero in",
)


def comparisons_markdown(comparisons: Sequence[Comparison]) -> str:
    """The summary, then one row per other method and metric: differences with their intervals."""
    parts = [f"### {AHEAD}", "", verdicts_markdown(comparisons)]
    parts += [f"### {PAIRED}", ""]
    return "\n".join([*parts, table(DIFFERENCES, difference_cells(comparisons))])


def verdicts_markdown(comparisons: Sequence[Comparison]) -> str:
    """In how many of the table's cells a method is ahead of each other one, and where the interval excludes zero."""
    return table(VERDICTS, map(verdict_cells, verdicts(comparisons)))


def verdict_cells(one: Verdict) -> tuple[object, ...]:
    """A row under `VERDICTS`."""
    counts = (f"{number} of {one.cells}" for number in (one.ahead, one.above, one.below))
    return one.cohort, one.method, one.other, one.folds, *counts


def difference_cells(comparisons: Sequence[Comparison]) -> Iterator[tuple[object, ...]]:
    """Rows under `DIFFERENCES`."""
    groups: dict[tuple[object, ...], dict[int, str]] = {}
    for c in comparisons:
        key: tuple[object, ...] = (c.cohort, c.method, c.other, c.folds, NAMES[c.metric])
        groups.setdefault(key, {})[c.top] = _shown(c)
    for key, cells in groups.items():
        yield *key, *(cells[L] for L in AT)


def _shown(c: Comparison) -> str:
    return f"{c.difference:+.2f} ({c.low:+.2f} … {c.high:+.2f})"
