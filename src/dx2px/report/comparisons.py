"""Who is ahead of whom: the paired differences of a benchmark, and a summary of them, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dx2px.evaluation.benchmark import Comparison, Verdict, verdicts
from dx2px.evaluation.metrics import AT

NAMES = {"recall": "recall", "precision": "precision", "f1": "F1"}
DIFFERENCES = ("cohort", "method", "other", "folds", "metric", *(f"@{L}" for L in AT))
VERDICTS = ("cohort", "method", "other", "folds", "ahead in", "interval above zero in", "below zero in")


def comparisons_markdown(comparisons: Sequence[Comparison]) -> str:
    """The summary, then a row for each other method and metric: differences with their intervals."""
    parts = ["### Ahead, over the cells of the table", "", verdicts_markdown(comparisons)]
    parts += ["### Paired differences, points, 90 % intervals over test stays", ""]
    return "\n".join([*parts, _table(DIFFERENCES, difference_cells(comparisons))])


def verdicts_markdown(comparisons: Sequence[Comparison]) -> str:
    """In how many of the table's cells a method is ahead of each other one, and in how many beyond doubt."""
    return _table(VERDICTS, map(verdict_cells, verdicts(comparisons)))


def f1_markdown(comparisons: Sequence[Comparison]) -> str:
    """The summary with the differences in F1 beside it: the short form for documents."""
    cells = {(c.cohort, c.other, c.top): _shown(c) for c in comparisons if c.metric == "f1"}
    rows = [
        (*verdict_cells(one), *(cells[one.cohort, one.other, L] for L in AT)) for one in verdicts(comparisons)
    ]
    return _table((*VERDICTS, *(f"F1@{L}" for L in AT)), rows)


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


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"
