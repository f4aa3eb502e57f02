"""The secondary table: every method of vectors under inner product, cosine and distance."""

from __future__ import annotations

from collections.abc import Sequence

from dx2px.evaluation.benchmark import RuleRow

TITLES = {"inner product": "inner product", "cosine": "cosine", "euclidean": "− distance"}


def rules_markdown(rows: Sequence[RuleRow]) -> str:
    """Validation F1@5, mean over folds; the rule that validation would pick is bold."""
    head = ("cohort", "method", "folds", "its own rule", "F1@5 by it", *TITLES.values())
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in rows:
        cells = [
            f"**{row.under[rule]:.1f}**" if rule == row.best else f"{row.under[rule]:.1f}" for rule in TITLES
        ]
        own = TITLES.get(row.own_rule, row.own_rule)
        cells = [row.cohort, row.method, str(row.folds), own, f"{row.own:.1f}", *cells]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
