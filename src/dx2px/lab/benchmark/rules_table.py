"""The secondary table: every method that learns vectors, under inner product, cosine and distance."""

from __future__ import annotations

from collections.abc import Sequence

from dx2px.lab.benchmark import RuleRow
from dx2px.lab.tables import table

TITLES = {"inner product": "inner product", "cosine": "cosine", "euclidean": "− distance"}


def rules_markdown(rows: Sequence[RuleRow]) -> str:
    """Validation F1@5, mean over folds; the rule that validation would pick is bold."""
    head = ("cohort", "method", "folds", "own rule", "F1@5 by own rule", *TITLES.values())
    return table(head, map(_cells, rows))


def _cells(row: RuleRow) -> list[object]:
    under = {rule: f"{row.under[rule]:.1f}" for rule in TITLES}
    under[row.best] = f"**{under[row.best]}**"
    own = TITLES.get(row.own_rule, row.own_rule)
    return [row.cohort, row.method, row.folds, own, f"{row.own:.1f}", *under.values()]
