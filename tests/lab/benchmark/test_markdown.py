"""The short table of a benchmark."""

from __future__ import annotations

from dx2px.lab.benchmark import Row
from dx2px.lab.benchmark.markdown import COLUMNS, summary_markdown
from dx2px.lab.benchmark.tables import Cell


def row(cohort: str, method: str, f1: float, folds: int) -> Row:
    cells = {column: Cell(f1 + int(column[0]), None) for column in COLUMNS}
    return Row(cohort, (10, 4, 2), method, folds, cells, None, 1)


def test_a_column_a_cohort_the_best_bold_and_what_lacks_told() -> None:
    rows = [row("a", "linear", 30.0, 10), row("a", "mlp", 31.0, 1), row("b", "linear", 20.0, 10)]
    head, _, linear, mlp = summary_markdown(rows).splitlines()
    assert head == "| method | a, F1@1 | b, F1@1 | a, F1@5 | b, F1@5 |"
    assert linear == "| linear | 31.0 | **21.0** | 35.0 | **25.0** |"
    assert mlp == "| mlp | **32.0** (1 fold) | – | **36.0** (1 fold) | – |"
